"""The watch wall by Streamlit's own test runner, with a tiny untrained TLOB that looks at 24 rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import streamlit
from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.market.feeds.protocol import FeedFailed
from core.market.hub import MAX_FEEDS_OF_VIEWER, hub, shutdown
from core.market.session_view import Status
from core.market.sources import MarketSource
from core.market.store import index
from core.messages import compose
from pages.markets import wall_markets
from pages.markets.live_scores import rival_names, standing_names
from pages.shared.navigation import ROOT
from tests.core.market.feeds_for_tests import ScriptedFeed, wait_until
from tests.core.market.helpers import real_rows, save_tiny
from tests.pages.open_page import open_page, ran, words

BUNDLED = [f"rec:{one.name}" for one in index.recordings()]
FIRST = BUNDLED[0]
opened = partial(open_page, ROOT / "pages" / "markets" / "wall.py")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints")
    save_tiny(folder, real_rows(0), name="tlob")
    return folder


@pytest.fixture(autouse=True)
def small_world(models: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The small model."""
    monkeypatch.setattr(checkpoints, "FOLDER", models)
    yield
    shutdown()


def table(app: AppTest) -> pd.DataFrame:
    return app.dataframe[0].value


def press(app: AppTest, key: str) -> AppTest:
    app.button(key=key).click()
    return ran(app)


def keys(app: AppTest) -> list[str]:
    """Feeds that run, without their owner."""
    return sorted(feed.key.partition("~")[0] for feed in hub().watched())


# -- which markets ----------------------------------------------------------------------------------------------------------


def test_it_opens_with_the_bundled_recordings_each_this_visits_own() -> None:
    app = opened()
    assert table(app)["symbol"].tolist() == [one.market for one in index.recordings()]
    assert keys(app) == sorted(f"recording/{one.name}" for one in index.recordings())
    assert len({feed.key.partition("~")[2] for feed in hub().watched()} - {""}) == 1
    assert "wall" not in app.query_params


def test_a_link_names_the_markets() -> None:
    app = opened(wall=f"{BUNDLED[1]},sim:7")
    assert table(app)["symbol"].tolist() == [index.recordings()[1].market, "simulated"]
    assert len(keys(app)) == 2


def test_a_link_with_nonsense_says_so_and_shows_the_rest() -> None:
    app = opened(wall=f"rec:nowhere,live:x,sim:-1,{FIRST},{FIRST}")
    assert len(table(app)) == 1
    assert "rec:nowhere, live:x, sim:-1" in words(app)


def test_no_more_markets_than_a_viewer_may_watch() -> None:
    app = opened(wall=",".join(f"sim:{seed}" for seed in range(MAX_FEEDS_OF_VIEWER + 2)))
    assert len(table(app)) == MAX_FEEDS_OF_VIEWER
    assert f"at most {MAX_FEEDS_OF_VIEWER} markets" in words(
        app
    ) and f"Left out: sim:{MAX_FEEDS_OF_VIEWER}, sim:{MAX_FEEDS_OF_VIEWER + 1}." in words(app)
    assert app.button(key="wall:add").disabled


def test_a_market_is_added_and_removed_and_the_link_follows() -> None:
    app = opened(wall="sim:3")
    app = press(app, "wall:add")  # the picker stands on a recording
    code = app.query_params["wall"]
    assert code == f"sim:3,{FIRST}" and len(table(app)) == 2
    assert app.button(key="wall:add").disabled and "on the wall already" in words(app)
    app = press(app, "wall:remove:sim:3")
    assert app.query_params["wall"] == FIRST and len(table(app)) == 1
    app = press(app, f"wall:remove:{FIRST}")
    assert app.query_params["wall"] == "none" and not len(app.dataframe) and "no market on the wall" in words(app)
    app = press(app, "wall:reset")
    assert len(table(app)) == len(BUNDLED) and "wall" not in app.query_params


def test_a_removed_market_is_left_so_that_another_may_run() -> None:
    app = opened(wall=",".join(f"sim:{seed}" for seed in range(MAX_FEEDS_OF_VIEWER)))
    app = press(app, "wall:remove:sim:0")
    app = press(app, "wall:add")
    assert len(table(app)) == MAX_FEEDS_OF_VIEWER and not app.error


@pytest.mark.parametrize(
    "source",
    [
        MarketSource(kind="live", name="binance/BTC/USDT:USDT"),
        MarketSource(kind="recording", name=index.recordings()[2].name, owner="abc"),
        MarketSource(kind="simulated", name="12", owner="abc"),
    ],
    ids=["live", "recording", "simulated"],
)
def test_a_code_names_its_source(source: MarketSource) -> None:
    assert wall_markets.source_of(wall_markets.code_of(source), "abc") == source


# -- a row ------------------------------------------------------------------------------------------------------------------


def test_a_row_shows_what_its_session_says() -> None:
    app = opened(wall="sim:5", label="forward", h="10")
    (session,) = hub().sessions()
    head = session.predictor.head("forward", 10)
    wait_until(lambda: session.answer_score(head).enough)
    session.feed.pause()  # type: ignore[attr-defined]
    wait_until(lambda: session.status_now()[0] is Status.PAUSED)
    step = -1
    while step != (step := session.step):  # rows that were under way
        time.sleep(1.0)
    line = table(ran(app)).iloc[0]
    view = session.view()
    newest, score = view.predictions[-1]["recalibrated"][head], session.answer_score(head)
    assert line["status"] == "Paused" and line["outcomes"] == score.independent and pd.isna(line["age"])
    assert line["net"] == pytest.approx(float(newest[2] - newest[0]), abs=6e-4)  # three digits are shown
    assert line["call"] == ("▼ Down", "■ Stationary", "▲ Up")[view.predictions[-1]["answered"][head]]
    assert line["lead"] == pytest.approx(score.lead.per_call, abs=6e-4)
    assert (line["standing"], line["rule"]) == (standing_names()[score.lead.standing], rival_names()[score.nearest])
    assert line["mids"][-1] == pytest.approx((view.levels[-1, 0] + view.levels[-1, 2]) / 2)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (FIRST, {"source": "recording", "rec": index.recordings()[0].name, "with": "shared1"}),
        ("sim:5", {"source": "simulated", "seed": "5", "with": "shared1"}),
    ],
)
def test_a_selected_market_opens_on_the_live_page(code: str, expected: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    links: list[dict[str, Any]] = []
    monkeypatch.setattr(wall_markets, "show_table", lambda rows, **more: 0)
    monkeypatch.setattr(streamlit, "page_link", lambda page, **more: links.append({"page": page, **more}))
    opened(**{"wall": code, "with": "shared1", "h": "10"})
    assert links[-1]["page"] == "pages/markets/live.py"
    assert links[-1]["query_params"] == {**expected, "h": "10"}
    (feed,) = hub().watched()
    assert feed.key.endswith("~shared1")


def test_a_live_market_opens_with_its_exchange_and_symbol() -> None:
    source = MarketSource(kind="live", name="kraken/BTC/USD")
    link = wall_markets.link_of(source, horizon=50)
    assert link == {"source": "live", "ex": "kraken", "sym": "BTC/USD", "h": "50"}


def test_a_failed_market_says_why_beside_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = ScriptedFeed([FeedFailed(compose("the venue is closed"))], key="live/kraken/BTC/USD", market="BTC/USD")
    played = MarketSource.feed
    monkeypatch.setattr(MarketSource, "feed", lambda source: feed if source.kind == "live" else played(source))
    app = opened(wall="live:kraken:BTC/USD,sim:1")
    wait_until(lambda: any(session.status_now()[0] is Status.FAILED for session in hub().sessions()))
    app = ran(app)
    assert table(app)["status"].tolist()[0] == "Failed" and len(table(app)) == 2
    assert [error.value for error in app.error] == ["BTC/USD · kraken: the venue is closed."]
