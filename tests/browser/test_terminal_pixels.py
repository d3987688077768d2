"""Eight minutes of a market on the terminal at 8x, by the pixels of its canvases: jumps, gaps, the loop, another source.

Frames are those of a session that plays a bundled recording, handed to the browser's own modules as fast as they are drawn; no
server and no clock is in it.
"""

from __future__ import annotations

import base64
import mimetypes
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from unittest.mock import Mock

import pytest
from playwright.sync_api import Page, Route

from core.market.events import GRID_ITEMS, Gap, GridItem, Row
from core.market.feeds.protocol import Status
from core.market.feeds.recording import RecordingFeed
from core.market.feeds.sampling import Grid
from core.market.light import MarketLight
from core.market.predictor import Predictor
from core.market.session import MarketSession
from core.market.store.index import find_recording
from pages.markets import terminal
from pages.markets.live_controls import OPENS_WITH, TerminalChoices
from tests.browser.conftest import Watch
from tests.browser.server import ROOT
from tests.core.market.feeds_for_tests import ScriptedFeed
from tests.core.market.helpers import real_rows, tiny_predictor

MINUTES: Final = 8
BATCH: Final = 16
"""Rows of a drawn frame: four seconds of the market, twice a second at 8x."""
SPAN_S: Final = 120
VIEW: Final = TerminalChoices(head=1, heads=(1, 3), span=SPAN_S, zone="UTC")
ADDRESS: Final = "http://localhost/terminal/"
HARNESS: Final = """<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="/attention_light/styles/colours.css">
<link rel="stylesheet" href="/assets/styles/colours.css"><link rel="stylesheet" href="/assets/styles/terminal.css">
<script>window.observatoryAddress = (path) => new URL(path, "http://localhost/")</script>
<body style="margin:0; height:860px"><div id="screen"></div></body>"""
LOOK: Final = (Path(__file__).parent / "apps" / "look_at_terminal.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return tiny_predictor(tmp_path_factory.mktemp("checkpoint"), real_rows(1))


@pytest.fixture
def screen(tab: Callable[..., Page], watch: Watch) -> Page:
    """A page that holds nothing but the terminal's modules."""

    def answer(route: Route) -> None:
        path = urllib.parse.urlparse(route.request.url).path
        file = ROOT / path.removeprefix("/")
        kind = mimetypes.guess_type(path)[0] or "text/html"
        route.fulfill(body=HARNESS if path == "/terminal/" else file.read_text(encoding="utf-8"), content_type=kind)

    page = tab()
    watch.page(page)
    page.route("http://localhost/**", answer)
    page.goto(ADDRESS)
    page.evaluate(LOOK)
    return page


class Market:
    """A session that is played row by row, and what its viewer is sent."""

    def __init__(self, predictor: Predictor, key: str = "recording/one") -> None:
        one = find_recording(OPENS_WITH)
        self.session = MarketSession(ScriptedFeed([], key=key, market=one.market), predictor)
        self.session.frames.stream._waiting[Mock()] = Mock(is_closed=lambda: True)
        self.light = MarketLight(predictor, self.session.entry)
        self.version = 0
        self.feed = RecordingFeed(one.paths, market=one.market, lead=400)
        self.items = self._played()

    def _played(self) -> Iterator[GridItem]:
        """What the grid makes of the recording, which begins again at its end."""
        grid = Grid("event")
        while True:
            for event in self.feed._at_once(Status.REPLAYING) or self.feed._row(Status.REPLAYING) or []:
                yield from (item for item in grid.on_event(event) if isinstance(item, GRID_ITEMS))

    def rows(self, count: int) -> list[GridItem]:
        """Items up to this many rows."""
        items: list[GridItem] = []
        while sum(isinstance(item, Row) for item in items) < count:
            items.append(next(self.items))
        return items

    def play(self, items: list[GridItem]) -> list[str]:
        """Frames that a viewer gets of these items, in base64."""
        for start in range(0, len(items), 64):
            self.session._follow_batch(items[start : start + 64])
        stream = self.session.frames.stream
        frames = stream.after(self.version) or [self.session.snapshot(1_200)[0]]
        self.version = stream.version
        return [base64.b64encode(frame).decode() for frame in frames]

    def configuration(self, **choices: Any) -> dict[str, Any]:
        return terminal.configuration(self.session, VIEW) | {
            "charts": "/assets/scripts/vendor/lightweight-charts.js",
            "chart": "/assets/scripts/terminal_chart.js",
            "address": "",
            "frame": self.play([])[0],
            "fee": 10.0,
            "presenting": False,
            **choices,
        }


def test_eight_minutes_have_no_empty_pane_no_line_over_a_gap_and_nothing_of_an_earlier_source(
    screen: Page, predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    market = Market(predictor)
    shown = screen.evaluate("config => look.configure(config)", market.configuration())
    assert shown["coloured"] == [0, 0, 0] and shown["words"] == []  # nothing is known yet
    assert shown["waits"] == [0, predictor.window]
    played, gaps, loops, unpredicted = 0, 0, 0, 0
    newest = 0
    while played < MINUTES * 240:
        step = played // BATCH
        if step % 24 == 8:  # forwards, over more rows than are drawn of a gap
            market.feed.seek(min(market.feed.position + 300, market.feed.length - 40))
        if step % 24 == 18:  # backwards
            market.feed.seek(max(0, market.feed.position - 500))
        items = market.rows(BATCH)
        if step % 12 == 4:  # eight seconds of an outage, and too few rows since then for a call
            items = [Gap(), *(item for item in market.rows(32 + BATCH // 2) if isinstance(item, Row))][-BATCH // 2 :]
            items.insert(0, Gap())
        times = [item.timestamp for item in items if isinstance(item, Row)]
        loops += times[0] < newest
        newest, played = times[-1], played + len(times)
        frames = market.play(items)
        explained = (window := market.session.newest_window(VIEW.head)) and market.light.explain(window)
        if step % 8 == 0 and explained:
            frames.append(explained.message)
        shown = screen.evaluate("frames => look.take(frames)", frames)
        where = f"at step {step}: {shown}"
        assert shown["newest"] == newest, where
        assert shown["empty"] == [], where
        assert shown["overGaps"] == [0, 0, 0] and shown["beforeTheFirst"] == [0, 0, 0], where
        assert shown["keepsUp"], where
        high, low = shown["ladder"]
        assert low < shown["mid"] < high and shown["offTheAxis"] < 1, where  # through a fall and every jump
        assert not (shown["called"] == "No call yet" and shown["bars"]), where
        assert (shown["waits"] is None) == (shown["called"] != "No call yet" and shown["outcomes"] > 0), where
        gaps, unpredicted = gaps + shown["gaps"], unpredicted + (shown["called"] == "No call yet")
    assert gaps > 30 and loops >= 8 and unpredicted >= 5

    other = Market(predictor, key="live/nowhere/OTHER")
    shown = screen.evaluate("config => look.configure(config)", other.configuration(symbol="OTHER/USDT"))
    assert shown["coloured"] == [0, 0, 0] and shown["words"] == [] and shown["called"] == "No call yet"
    assert shown["strip"] == ["Replaying", "OTHER/USDT", *["–"] * 5, "Not in training"]  # no value of the earlier one
    shown = screen.evaluate("frames => look.take(frames)", other.play(other.rows(600)))
    assert shown["empty"] == [] and shown["beforeTheFirst"] == [0, 0, 0]
    shown = screen.evaluate("config => look.configure(config)", other.configuration(head=3))  # another horizon
    assert shown["empty"] == []
    bars = other.configuration(bars=15, cumulative=True)
    shown = screen.evaluate("config => look.configure(config)", bars)
    assert shown["empty"] == [] and shown["overGaps"] == [0, 0, 0]

    scale = "() => { const s = document.querySelector('.terminal').terminal.chart.chart.priceScale('right', 0);"
    scale += " const { from, to } = s.getVisibleRange(); return [from, to, s.options().autoScale]; }"
    low, high, followed = screen.evaluate(scale)
    screen.keyboard.press("+")
    zoomed = screen.evaluate(scale)
    assert followed and zoomed[:2] == pytest.approx([low + 0.1 * (high - low), high - 0.1 * (high - low)]) and not zoomed[2]
    screen.keyboard.press("-")
    assert screen.evaluate(scale)[:2] == pytest.approx([low, high])
    screen.keyboard.press("l")
    assert screen.evaluate(scale)[2]


FITTED: Final = """async () => {
    const { chart } = document.querySelector('.terminal').terminal;
    const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const fit = chart.fitColours.bind(chart);
    const ends = [];
    chart.fitColours = () => { ends.push(chart.depth.until); fit(); };
    chart.pan(-0.5);
    await drawn();
    const earlier = chart.depth.until;
    chart.returnToNewest();
    await drawn();
    return [earlier, chart.store.slots.length, ...ends];
}"""


def test_back_at_the_newest_rows_the_colours_are_fitted_to_them(screen: Page, predictor: Predictor) -> None:
    market = Market(predictor)
    screen.evaluate("config => look.configure(config)", market.configuration())
    screen.evaluate("frames => look.take(frames)", market.play(market.rows(900)))
    earlier, newest, *ends = screen.evaluate(FITTED)
    assert earlier < newest and ends == [newest]
