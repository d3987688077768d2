"""Server time of opening every page of the running app, and of a change of one dial on it.

    python -m scripts.bench_pages [--moves 8] [--pages NAME...] [--json]

Starts the app and beside it an empty one, and speaks to both as a browser does: over Streamlit's websocket, with the page's
address and its dials' values, so that a dial inside a fragment runs that fragment alone. Prints for each page, in milliseconds:
opening it until its first chart and until its end, less an empty page opened in turn with it; the median and the 95th percentile
of moving one dial after another, and the dial that takes longest. Each is the server's processor time, which other programs
change little; the time by the clock follows in brackets. The aims are 300 for opening and 150 for the 95th percentile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

import aiohttp
import numpy as np
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.Slider_pb2 import Slider
from streamlit.proto.WidgetStates_pb2 import WidgetState

from pages.shared.navigation import ENTRIES, ROOT
from tests.browser.server import AppServer, serve

EMPTY: Final = "import streamlit as st\nst.write('nothing')\n"
CHARTS: Final = {"plotly_chart", "bidi_component", "imgs", "component_instance"}
"""Elements that count as a chart: the app's own screens are components."""
CHOICES: Final = {"selectbox", "radio"}
PATIENCE_S: Final = 120.0
OPENINGS: Final = 5


@dataclass(frozen=True, kw_only=True)
class Dial:
    """A widget that can be moved, what it is moved to, and the fragment that holds it."""

    label: str
    moved: WidgetState
    fragment: str


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of a script, in milliseconds.

    Attributes:
        cpu: processor time of the server. wall: by the clock. chart: the processor time until the first chart, NaN without one.
        failed: whether it showed an exception.
    """

    cpu: float
    wall: float
    chart: float
    failed: bool


@dataclass
class Visit:
    """One visitor's connection to a server, on one page.

    Attributes:
        dials: of the page by their place in it, as last sent.
    """

    socket: aiohttp.ClientWebSocketResponse
    process: int
    page: str
    dials: dict[tuple[int, ...], Dial] = field(default_factory=dict)
    states: dict[str, WidgetState] = field(default_factory=dict)

    async def run(self, moved: Dial | None = None) -> Run:
        """Open the page, or move a dial on it, and wait for its end."""
        message = BackMsg()
        message.rerun_script.page_name = self.page
        message.rerun_script.context_info.locale = "en"
        if moved:
            message.rerun_script.fragment_id = moved.fragment
            self.states[moved.moved.id] = moved.moved
        message.rerun_script.widget_states.widgets.extend(self.states.values())
        cpu, began, chart, failed = _cpu_ms(self.process), time.perf_counter(), math.nan, False
        if not (moved and moved.fragment):
            self.dials.clear()
        await self.socket.send_bytes(message.SerializeToString())
        while True:
            answer = ForwardMsg.FromString(await self.socket.receive_bytes(timeout=PATIENCE_S))
            kind = answer.WhichOneof("type")
            if kind == "script_finished" and answer.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                took, wall = _cpu_ms(self.process) - cpu, (time.perf_counter() - began) * 1e3
                return Run(cpu=took, wall=wall, chart=chart, failed=failed)
            if kind == "delta":
                element = answer.delta.new_element.WhichOneof("type") or ""
                failed |= element == "exception"
                if element in CHARTS and math.isnan(chart):
                    chart = _cpu_ms(self.process) - cpu
                place = tuple(answer.metadata.delta_path)
                self.dials.pop(place, None)
                if dial := _dial(answer.delta):
                    self.dials[place] = dial


def _dial(delta: Delta) -> Dial | None:
    """The dial that a message brings, if it is one, with its next value."""
    element = delta.new_element
    kind = element.WhichOneof("type") if delta.HasField("new_element") else None
    if kind not in {*CHOICES, "checkbox", "slider"}:
        return None
    widget = getattr(element, kind)
    state = WidgetState(id=widget.id)
    if widget.disabled or widget.form_id:
        return None
    if kind in CHOICES:
        options = list(widget.options)
        if len(options) < 2:
            return None
        now = options.index(widget.raw_value) if widget.raw_value in options else widget.default
        state.string_value = options[(now + 1) % len(options)]
    elif kind == "checkbox":
        state.bool_value = not (widget.value if widget.set_value else widget.default)
    else:
        if len(widget.default) > 1 or widget.max <= widget.min:
            return None
        now = widget.value[0] if widget.set_value and widget.value else widget.default[0]
        after = now + widget.step if now + widget.step <= widget.max else now - widget.step
        if widget.type == Slider.Type.SELECT_SLIDER:
            state.string_array_value.data.append(widget.options[int(after)])
        else:
            state.double_array_value.data.append(after)
    return Dial(label=widget.label, moved=state, fragment=delta.fragment_id)


def _cpu_ms(process: int) -> float:
    """Processor time of a process so far, to the microsecond: the clock that clock_getcpuclockid(3) names."""
    return 1e3 * time.clock_gettime((~process << 3) | 2)


class Server:
    """An app that runs, as its visitors see it."""

    def __init__(self, server: AppServer, http: aiohttp.ClientSession) -> None:
        self._address, self._http = server.url.replace("http", "ws", 1) + "/_stcore/stream", http
        self._process = server.process.pid

    async def opened(self, page: str = "") -> tuple[Visit, Run]:
        """A new visitor, who opens a page."""
        visit = Visit(await self._http.ws_connect(self._address, max_msg_size=0), self._process, page)
        return visit, await visit.run()

    async def run(self, page: str = "") -> Run:
        """A visitor who opens a page and leaves."""
        visit, run = await self.opened(page)
        await visit.socket.close()
        return run


async def measured(app: Server, empty: Server, page: str, moves: int) -> dict[str, Any]:
    """One page: opened when all it loads is loaded, in turn with an empty one, and its dials in turn."""
    failed = (await app.run(page)).failed
    both = [(await app.run(page), await empty.run()) for _ in range(OPENINGS)]
    visit, _ = await app.opened(page)
    runs = dict[str, list[Run]]()
    for turn in range(moves):
        there = list(visit.dials.values())
        if not there:
            break
        dial = there[turn % len(there)]
        run = await visit.run(dial)
        runs.setdefault(dial.label, []).append(run)
        failed |= run.failed
    await visit.socket.close()
    moved = [one for several in runs.values() for one in several]

    def median_above(value: Callable[[Run], float]) -> float:
        return median(value(one) - none.cpu for one, none in both)

    return {
        "chart": median_above(lambda one: one.chart),
        "opening": median_above(lambda one: one.cpu),
        "opening_wall": median(one.wall - none.wall for one, none in both),
        "median": median(one.cpu for one in moved) if moved else None,
        "p95": float(np.percentile([one.cpu for one in moved], 95)) if moved else None,
        "p95_wall": float(np.percentile([one.wall for one in moved], 95)) if moved else None,
        "slowest": max(runs, key=lambda label: max(one.cpu for one in runs[label])) if runs else "",
        "failed": failed,
    }


def _text(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.0f}"


async def measure(pages: list[str] | None, moves: int) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """Each page in turn, by its address."""
    with ExitStack() as stack:
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2)]
        (folders[1] / "empty.py").write_text(EMPTY, encoding="utf-8")
        started = [
            stack.enter_context(serve(script, folder))
            for script, folder in zip((ROOT / "streamlit_app.py", folders[1] / "empty.py"), folders, strict=True)
        ]
        async with aiohttp.ClientSession() as http:
            app, empty = (Server(one, http) for one in started)
            await empty.run()
            for entry in ENTRIES:
                if not pages or entry.url in pages:
                    yield entry.url, await measured(app, empty, "" if entry is ENTRIES[0] else entry.url, moves)


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--moves", type=int, default=8, help="of each page, its dials in turn")
    parser.add_argument("--pages", nargs="+", metavar="NAME", help="some of the pages, by the end of their address")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = {}
    if not options.json:
        print(f"{'page':<20}{'chart':>7}{'opening':>9}{'':>9}{'median':>8}{'p95':>7}{'':>9}  slowest dial")
    async for name, row in measure(options.pages, options.moves):
        rows[name] = row
        if not options.json:
            print(
                f"{name:<20}{_text(row['chart']):>7}{_text(row['opening']):>9}{'(' + _text(row['opening_wall']) + ')':>9}"
                f"{_text(row['median']):>8}{_text(row['p95']):>7}{'(' + _text(row['p95_wall']) + ')':>9}"
                f"  {row['slowest']}{'  FAILED' * row['failed']}",
                flush=True,
            )
    if options.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    asyncio.run(main())
