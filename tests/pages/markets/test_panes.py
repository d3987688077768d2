"""Several panes by Streamlit's own test runner, with a tiny untrained TLOB that looks at 24 rows."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import streamlit
from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.market.feeds.recording import RecordingFeed
from core.market.feeds.simulated import SimulatedFeed
from core.market.hub import hub, shutdown
from core.market.sources import MarketSource
from core.market.store import index
from pages.markets import pane_markets, terminal
from pages.markets.pane_markets import MOST
from pages.shared.navigation import ROOT
from tests.core.market.helpers import real_rows, save_tiny
from tests.pages.open_page import open_page, press, words

BUNDLED = [f"rec:{one.name}" for one in index.recordings()]
FIRST = BUNDLED[0]
PAGE = ROOT / "pages" / "markets" / "panes.py"
opened = partial(open_page, PAGE)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints")
    save_tiny(folder, real_rows(0), name="tlob")
    return folder


@pytest.fixture(autouse=True)
def drawn(models: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The symbols that were drawn, in place of a browser; the small model."""
    monkeypatch.setattr(checkpoints, "FOLDER", models)
    symbols: list[str] = []
    monkeypatch.setattr(terminal, "draw_terminal", lambda session, view, **more: symbols.append(session.feed.market))
    yield symbols
    shutdown()


def test_it_opens_with_the_bundled_recordings_each_this_visits_own(drawn: list[str]) -> None:
    app = opened()
    assert drawn == [one.market for one in index.recordings()]
    assert len({key.partition("~")[2] for key in hub().watched()} - {""}) == 1
    assert "panes" not in app.query_params


def test_a_link_names_the_markets_an_old_one_too_and_nonsense_is_said(drawn: list[str]) -> None:
    app = opened(wall=f"{BUNDLED[1]},sim:7")
    assert drawn == [index.recordings()[1].market, "simulated"]
    assert app.query_params["panes"] == f"{BUNDLED[1]},sim:7" and "wall" not in app.query_params
    drawn.clear()
    app = opened(panes=f"rec:nowhere,live:x,sim:-1,{FIRST},{FIRST}")
    assert len(drawn) == 1 and "rec:nowhere, live:x, sim:-1" in words(app)


def test_no_more_panes_than_there_is_room_for(drawn: list[str]) -> None:
    app = opened(panes=",".join(f"sim:{seed}" for seed in range(MOST + 2)))
    assert len(drawn) == MOST and app.button(key="panes:add").disabled
    assert f"room for {MOST} markets" in words(app) and f"Left out: sim:{MOST}, sim:{MOST + 1}." in words(app)


def test_a_market_is_added_and_removed_and_the_link_follows(drawn: list[str]) -> None:
    app = press(opened(panes="sim:3"), "panes:add")  # the picker stands on a recording
    assert app.query_params["panes"] == f"sim:3,{FIRST}" and len(drawn) == 3
    assert app.button(key="panes:add").disabled and "has a pane already" in words(app)
    app = press(app, "panes:remove:sim:3")
    assert app.query_params["panes"] == FIRST and sum(hub().watched().values()) == 1
    app = press(app, f"panes:remove:{FIRST}")
    assert app.query_params["panes"] == "none" and "There is no pane" in words(app)
    drawn.clear()
    app = press(app, "panes:reset")
    assert len(drawn) == len(BUNDLED) and "panes" not in app.query_params


@pytest.mark.parametrize(
    ("source", "link"),
    [
        (MarketSource(kind="live", name="kraken/BTC/USD:USD"), {"source": "live", "ex": "kraken", "sym": "BTC/USD:USD"}),
        (
            MarketSource(kind="recording", name=index.recordings()[2].name, owner="abc"),
            {"source": "recording", "rec": index.recordings()[2].name, "with": "abc"},
        ),
        (MarketSource(kind="simulated", name="12", owner="abc"), {"source": "simulated", "seed": "12", "with": "abc"}),
    ],
    ids=["live", "recording", "simulated"],
)
def test_a_code_names_its_source_and_a_press_opens_that_very_market(
    source: MarketSource, link: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = pane_markets.code_of(source)
    assert pane_markets.source_of(code, "abc") == source
    went: list[tuple[str, Any]] = []
    monkeypatch.setattr(streamlit, "switch_page", lambda page, *, query_params: went.append((page, query_params)))
    monkeypatch.setattr(MarketSource, "feed", lambda _source: SimulatedFeed(3))
    monkeypatch.setattr(pane_markets, "chosen", lambda: [source])
    app = AppTest.from_file(str(PAGE), default_timeout=120)
    app.query_params.update({"h": "10", "with": "abc"})
    app.session_state["panes:opened"] = code
    app.run()
    assert went[0] == ("pages/markets/live.py", link | {"h": "10"})


def test_a_followed_market_is_named_as_people_write_its_exchange() -> None:
    assert pane_markets.title_of(MarketSource(kind="live", name="kraken/BTC/USD:USD")) == "BTC/USD:USD · Kraken"
    names = {key: pane_markets.title_of_feed(key) for key in ("live/okx/BTC/USDT", "live/no_such/X/Y~abc", "simulated/3~abc")}
    assert list(names.values()) == ["BTC/USDT · OKX", "X/Y · no_such", "simulated/3"]


def feeds() -> list[Any]:
    """Of all that is watched."""
    return [session.feed for session in hub().sessions()]


def test_all_that_is_played_is_paused_steps_and_goes_on_together() -> None:
    app = press(opened(panes="sim:1,sim:2"), "feed:pause")
    assert [feed.paused for feed in feeds()] == [True, True]
    steps = [Mock(wraps=feed.step) for feed in feeds()]
    for feed, step in zip(feeds(), steps, strict=True):
        feed.step = step
    press(app, "step")
    assert [step.call_count for step in steps] == [1, 1]
    press(app, "feed:play")
    assert [feed.paused for feed in feeds()] == [False, False]


def test_a_playback_belongs_to_its_viewer_or_to_all_that_its_link_names() -> None:
    one, _other = opened(panes="sim:1"), opened(panes="sim:1")
    press(one, "feed:pause")
    assert sorted(feed.paused for feed in feeds()) == [False, True]
    shutdown()
    one, _other = (opened(panes="sim:1", **{"with": "classroom"}) for _ in range(2))
    press(one, "feed:pause")
    assert [feed.paused for feed in feeds()] == [True]


def test_recordings_of_one_time_are_at_one_moment_and_begin_again_at_one() -> None:
    press(opened(), "feed:pause")
    days: dict[int, list[RecordingFeed]] = {}
    for feed in feeds():
        days.setdefault(feed.span_ms[0] // 86_400_000, []).append(feed)
    assert sorted(map(len, days.values())) == [1, 1, 3]
    for together in days.values():
        moments = [feed.now_ms for feed in together]
        again = [feed._book.timestamps[feed._again] for feed in together]
        assert max(moments) - min(moments) <= 2_250 and len(set(again)) == 1
