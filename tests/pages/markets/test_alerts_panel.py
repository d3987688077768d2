"""The alerts panel by Streamlit's own test runner: each kind of rule is set, described, removed, exported and imported."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.market import alert_monitor
from core.market.alerts import WATCHED, AlertBook, AlertRule, Condition, MarketState, rules_to_json
from core.market.book import OrderBookSnapshot
from core.market.feeds.protocol import FeedEvent, FeedState, StatusChange, Trade
from core.market.session import MarketSession
from core.market.session_view import Status
from core.service import alerts
from core.service.access import Role, Visitor
from tests.core.market.feeds_for_tests import ScriptedFeed, books, replaying
from tests.core.market.helpers import real_rows, tiny_predictor
from tests.pages.open_page import ran, words

MARKET = "live/testville/ABC/USD"
ROWS = real_rows(1)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> MarketSession:
    predictor = tiny_predictor(tmp_path_factory.mktemp("checkpoint"), ROWS)
    made = MarketSession(ScriptedFeed(replaying(ROWS[-30:]), key=f"{MARKET}~someone", ends=True), predictor)
    asyncio.run(made.run())
    return made


async def accepted(webhook: str) -> None:
    """As where the address is public."""


@pytest.fixture(autouse=True)
def book(monkeypatch: pytest.MonkeyPatch) -> AlertBook:
    made = AlertBook()
    monkeypatch.setattr(alerts, "book", lambda: made)
    monkeypatch.setattr(alerts, "check_receiver", accepted)
    return made


def page(session):  # type: ignore[no-untyped-def]  # the runner knows no name of this file
    from pages.markets import alerts_panel

    alerts_panel.show(session)


def opened(session: MarketSession, kind: str | None = None) -> AppTest:
    app = ran(AppTest.from_function(page, default_timeout=60, args=(session,)))
    if kind is not None:
        app.selectbox(key="alert:kind").set_value(kind)
        ran(app)
    return app


def set_it(app: AppTest) -> AppTest:
    app.button(key="FormSubmitter:alert-Set this alert").click()
    return ran(app)


def keys(app: AppTest) -> set[str]:
    """Widgets of the form that depend on the kind."""
    kinds = ("head", "direction", *WATCHED)
    return {
        one.key.removeprefix("alert:") for one in [*app.selectbox, *app.number_input] if one.key.removeprefix("alert:") in kinds
    }


def test_each_kind_asks_only_for_what_it_watches(session: MarketSession) -> None:
    assert {kind: keys(opened(session, kind)) for kind in WATCHED} == {
        "probability": {"head", "direction", "probability"},
        "score": {"head", "score"},
        "feed": set(),
        "price": {"price"},
        "imbalance": {"direction", "imbalance"},
        "wall": {"direction", "wall"},
        "delta": {"direction", "delta"},
    }


def test_the_forward_label_is_offered_first(session: MarketSession) -> None:
    """D24."""
    offered = opened(session, "score").selectbox(key="alert:head").options
    assert [one.split(",")[0] for one in offered] == ["Forward"] * 2 + ["Smoothed"] * 2


def test_what_is_set_is_the_rule(session: MarketSession, book: AlertBook) -> None:
    app = opened(session, "probability")
    app.selectbox(key="alert:head").set_value("forward_5")
    app.selectbox(key="alert:direction").set_value("down")
    app.number_input(key="alert:probability").set_value(0.65)
    app.toggle(key="alert:notification").set_value(True)
    app.text_input(key="alert:webhook").set_value(" https://receiver.example/x ")
    set_it(app)
    (rule,) = book.rules("operator")
    assert (rule.market, rule.kind, rule.head, rule.direction, rule.level) == (MARKET, "probability", "forward_5", "down", 0.65)
    assert (rule.sound, rule.notification, rule.webhook) == (True, True, "https://receiver.example/x")


def test_conditions_are_combined(session: MarketSession, book: AlertBook) -> None:
    app = opened(session, "imbalance")
    app.selectbox(key="alert:kind:1").set_value("probability")
    ran(app)
    app.selectbox(key="alert:kind:2").set_value("wall")
    ran(app)
    app.selectbox(key="alert:head:1").set_value("forward_5")
    app.number_input(key="alert:wall:2").set_value(2.0)
    app.number_input(key="alert:for").set_value(5.0)
    (rule,) = set_it(app) and book.rules("operator")
    assert (rule.kind, rule.level, rule.for_s) == ("imbalance", 0.5, 5.0)
    assert rule.also == (Condition(kind="probability", head="forward_5", level=0.7), Condition(kind="wall", level=2.0))
    assert (
        "The book leans to a side: Up 50.0% + A probability is reached: Up 70.0% · Forward, 5 steps (1.2 sec) + "
        "A large resting size is eaten: Up 2, for 5 sec" in words(ran(app))
    )


def test_the_state_is_that_of_the_rows_since_the_last_gap(session: MarketSession) -> None:
    """Recomputed from the levels by hand; what was traded before a minute or a gap is not counted."""
    times, levels = ROWS.timestamps[-400:], ROWS.levels[-400:]
    gap = StatusChange(state=FeedState.REPLAYING, gap=True)
    whole, broken = replaying(ROWS[-400:]), [*replaying(ROWS[-400:-130]), gap, *books(ROWS[-100:])]
    for first, script in ((400 - 241, whole), (300, broken)):
        at = {first: (5.0, "buy"), first + 1: (2.0, "buy"), 399: (0.5, "sell")}
        events: list[FeedEvent] = []
        for event in script:
            events.append(event)
            for index, (size, side) in at.items():
                if isinstance(event, OrderBookSnapshot) and event.exchange_ms == times[index]:
                    events.append(Trade(price=1.0, size=size, side=side, exchange_ms=int(times[index])))  # type: ignore[arg-type]
        played = MarketSession(ScriptedFeed(events, key=MARKET, ends=True), session.predictor)
        asyncio.run(played.run())
        state, mids = alert_monitor.state_of(played), (levels[:, 0] + levels[:, 2]) / 2
        bids, asks = levels[-1, 3::4].sum(), levels[-1, 1::4].sum()
        assert state.imbalance == pytest.approx((bids - asks) / (bids + asks)) and state.time_ms == times[-1]
        assert state.move == pytest.approx(mids[-1] - mids[first]) and state.delta == 1.5


def test_a_price_begins_at_the_mid(session: MarketSession, book: AlertBook) -> None:
    set_it(opened(session, "price"))
    (rule,) = book.rules("operator", MARKET)
    assert rule.level == pytest.approx(float(ROWS.mid[-1]), rel=1e-7) and rule.kind == "price"


def test_a_level_that_cannot_be_is_one_sentence_and_no_rule(session: MarketSession, book: AlertBook) -> None:
    app = opened(session, "probability")
    app.number_input(key="alert:probability").set_value(1.5)
    (error,) = set_it(app).error
    assert "a level is from 0 to 1 here, not 1.5" in error.value.lower() and book.rules("operator") == []


def test_rules_of_this_market_are_listed_in_words_and_removed(session: MarketSession, book: AlertBook, visitor: Visitor) -> None:
    hook = "https://hooks.example/services/secret"
    mine = AlertRule(market=MARKET, kind="probability", head="forward_50", level=0.7, webhook=hook, owner="operator")
    others = [
        AlertRule(market="live/elsewhere/X", kind="feed", owner="operator"),
        AlertRule(market=MARKET, kind="price", level=1.0, owner="tab:other"),
    ]
    for rule in (mine, *others):
        book.put(rule)
    app = opened(session)
    assert "→ hooks.example" in words(app)
    assert "services/secret" not in str(app) and "secret" not in alerts.exported(visitor)
    assert "The mid crosses a price: 1" not in words(app)
    assert "A probability is reached: Up 70.0% · Forward, 50 steps (12.5 sec)" in words(app)
    assert "The feed is stale or lost, or its book stands still" not in words(app)
    app.button(key=f"alert:remove:{mine.id}").click()
    ran(app)
    assert [*book.rules("operator"), *book.rules("tab:other")] == others


def test_what_went_off_is_listed(session: MarketSession, book: AlertBook) -> None:
    book.put(AlertRule(market=MARKET, kind="feed", owner="operator"))
    state = MarketState(
        feed=session.feed.key, market=MARKET, symbol="ABC/USD", status=Status.STALE, mid=1.0, probabilities={}, scores={}
    )
    book.check(state)
    assert "ABC/USD: the feed is stale" in words(opened(session))


def test_a_file_replaces_all_alerts_and_a_bad_one_changes_nothing(
    session: MarketSession, book: AlertBook, tmp_path: Path
) -> None:
    rules = [AlertRule(market=MARKET, kind="price", level=77.0)]
    app = opened(session)
    for text, expected in ((rules_to_json(rules), [77.0]), (json.dumps([1, 2]), [77.0])):
        app.file_uploader(key="alerts:import").set_value(("alerts.json", text.encode(), "application/json"))
        ran(app)
        app.button(key="alerts:replace").click()
        ran(app)
        assert [rule.level for rule in book.rules("operator")] == expected
    assert "the file holds no alerts" in app.error[0].value.lower()


def test_an_imported_file_with_ids_of_widgets_and_broken_fields_never_breaks_the_page(
    session: MarketSession, book: AlertBook
) -> None:
    """Its id was a widget's key, and its head a list: the page failed for everyone, for good."""
    app = opened(session)
    for entry in ({"id": "kind"}, {"id": "export", "head": [1]}, {"webhook": {}}):
        text = json.dumps({"alerts": [{"market": MARKET, "kind": "feed", **entry}]})
        app.file_uploader(key="alerts:import").set_value(("alerts.json", text.encode(), "application/json"))
        ran(app)
        app.button(key="alerts:replace").click()
        ran(app)
        ran(opened(session))
    assert len(book.rules("operator")) == 1


@pytest.mark.parametrize("role", [Role.STRANGER])
def test_a_stranger_has_alerts_of_this_tab_and_no_webhook(session: MarketSession, book: AlertBook, visitor: Visitor) -> None:
    app = opened(session, "feed")
    assert "alert:webhook" not in {one.key for one in app.text_input} and "as long as this browser tab" in words(app)
    set_it(app)
    assert [rule.owner for rule in book.rules("tab:tab")] == ["tab:tab"]
    text = json.dumps({"alerts": [{"market": MARKET, "kind": "feed", "webhook": "https://hooks.example/x"}]})
    app.file_uploader(key="alerts:import").set_value(("alerts.json", text.encode(), "application/json"))
    ran(app)
    app.button(key="alerts:replace").click()
    assert "Closed here: alerts that are sent to a web address." in ran(app).error[0].value
    assert [rule.webhook for rule in book.rules("tab:tab")] == [""]
