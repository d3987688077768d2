"""The alerts panel by Streamlit's own test runner: each kind of rule is set, described, removed, exported and imported."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.market.alerts import AlertBook, AlertRule, MarketState, rules_to_json
from core.market.session import MarketSession
from core.market.session_view import Status
from pages.markets import alerts_panel
from tests.core.market.feeds_for_tests import ScriptedFeed, replaying
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


@pytest.fixture(autouse=True)
def book(monkeypatch: pytest.MonkeyPatch) -> AlertBook:
    made = AlertBook()
    monkeypatch.setattr(alerts_panel, "alert_book", lambda: made)
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
    kinds = ("head", "direction", "probability", "gap", "price")
    return {
        one.key.removeprefix("alert:") for one in [*app.selectbox, *app.number_input] if one.key.removeprefix("alert:") in kinds
    }


def test_each_kind_asks_only_for_what_it_watches(session: MarketSession) -> None:
    assert {kind: keys(opened(session, kind)) for kind in ("probability", "score", "feed", "price")} == {
        "probability": {"head", "direction", "probability"},
        "score": {"head", "gap"},
        "feed": set(),
        "price": {"price"},
    }


def test_what_is_set_is_the_rule(session: MarketSession, book: AlertBook) -> None:
    app = opened(session, "probability")
    app.selectbox(key="alert:head").set_value("forward_5")
    app.selectbox(key="alert:direction").set_value("down")
    app.number_input(key="alert:probability").set_value(0.65)
    app.toggle(key="alert:notification").set_value(True)
    app.text_input(key="alert:webhook").set_value(" https://receiver.example/x ")
    set_it(app)
    (rule,) = book.rules()
    assert (rule.market, rule.kind, rule.head, rule.direction, rule.level) == (MARKET, "probability", "forward_5", "down", 0.65)
    assert (rule.sound, rule.notification, rule.webhook) == (True, True, "https://receiver.example/x")


def test_a_price_begins_at_the_mid(session: MarketSession, book: AlertBook) -> None:
    set_it(opened(session, "price"))
    (rule,) = book.rules(MARKET)
    assert rule.level == pytest.approx(float(ROWS.mid[-1]), rel=1e-7) and rule.kind == "price"


def test_a_level_that_cannot_be_is_one_sentence_and_no_rule(session: MarketSession, book: AlertBook) -> None:
    app = opened(session, "probability")
    app.number_input(key="alert:probability").set_value(1.5)
    (error,) = set_it(app).error
    assert "a probability of 1.5 does not exist" in error.value.lower() and book.rules() == []


def test_rules_of_this_market_are_listed_in_words_and_removed(session: MarketSession, book: AlertBook) -> None:
    book.put(AlertRule(market=MARKET, kind="probability", head="forward_50", level=0.7, id="one"))
    book.put(AlertRule(market="live/elsewhere/X", kind="feed", id="two"))
    app = opened(session)
    assert "A probability is reached: Up 70.0% · Forward, 50 steps (12.5 sec)" in words(app)
    assert "The feed is stale or lost" not in words(app)
    app.button(key="alert:one").click()
    ran(app)
    assert [rule.id for rule in book.rules()] == ["two"]


def test_what_went_off_is_listed(session: MarketSession, book: AlertBook) -> None:
    book.put(AlertRule(market=MARKET, kind="feed"))
    book.check(MarketState(market=MARKET, symbol="ABC/USD", status=Status.STALE, mid=1.0, probabilities={}, scores={}))
    assert "ABC/USD: the feed is stale" in words(opened(session))


def test_a_file_replaces_all_alerts_and_a_bad_one_changes_nothing(
    session: MarketSession, book: AlertBook, tmp_path: Path
) -> None:
    rules = [AlertRule(market=MARKET, kind="feed", id="new")]
    app = opened(session)
    for text, expected in ((rules_to_json(rules), ["new"]), (json.dumps([1, 2]), ["new"])):
        app.file_uploader(key="alerts:import").set_value(("alerts.json", text.encode(), "application/json"))
        ran(app)
        app.button(key="alerts:replace").click()
        ran(app)
        assert [rule.id for rule in book.rules()] == expected
    assert "the file holds no alerts" in app.error[0].value.lower()
