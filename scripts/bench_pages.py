"""Server time of opening every page, and of a change of one dial on it.

    python -m scripts.bench_pages [--moves 8] [--pages NAME...] [--json]

Prints for each page, in milliseconds: opening it, less an empty page; the median and the 95th percentile of moving one dial after
another, and the dial that takes longest. The aims are 300 for opening and 150 for the 95th percentile.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.shared.navigation import ENTRIES, ROOT

EMPTY = "import streamlit as st\nst.write('nothing')\n"


def dials(app: AppTest) -> list[tuple[str, Callable[[], object]]]:
    """Each dial of the page that can be moved, by its label, with the move."""
    found: list[tuple[str, Callable[[], object]]] = []
    for slider in app.slider:
        if isinstance(slider.value, int | float) and slider.max > slider.min:
            found.append((slider.label, partial(_move, slider)))
    for kind in (app.selectbox, app.radio, app.select_slider):
        found += [(one.label, partial(_next, one)) for one in kind if len(one.options) > 1]
    found += [(one.label, partial(one.set_value, not one.value)) for one in (*app.toggle, *app.checkbox)]
    return [(label, move) for label, move in found if label]


def _move(slider: Any) -> None:
    """A step up, or down from the top."""
    up = slider.value + slider.step
    slider.set_value(up if up <= slider.max else slider.value - slider.step)


def _next(choice: Any) -> None:
    """The option after the chosen one, or the first."""
    choice.set_value(choice.options[(choice.index + 1) % len(choice.options)] if choice.index is not None else choice.options[0])


def timed(app: AppTest) -> float:
    """Milliseconds of one run of the page."""
    began = time.perf_counter()
    app.run()
    return (time.perf_counter() - began) * 1e3


def measured(file: str, moves: int, empty_ms: float, again_ms: float) -> dict[str, Any]:
    """One page: opened the second time, when all it loads is loaded, and its dials in turn."""
    path = str(ROOT / ("streamlit_app.py" if file == ENTRIES[0].file else file))  # the first page is the app's own
    AppTest.from_file(path, default_timeout=120).run()
    app = AppTest.from_file(path, default_timeout=120)
    opening, taken = timed(app) - empty_ms, dict[str, list[float]]()
    for turn in range(moves):
        there = dials(app)
        if not there:
            break
        label, move = there[turn % len(there)]
        try:
            move()
        except Exception:  # an option that the test runner cannot choose by its label
            continue
        taken.setdefault(label, []).append(timed(app) - again_ms)
    times = [one for several in taken.values() for one in several]
    return {
        "opening": opening,
        "median": median(times) if times else None,
        "p95": float(np.percentile(times, 95)) if times else None,
        "slowest": max(taken, key=lambda label: max(taken[label])) if taken else "",
        "failed": bool(app.exception),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--moves", type=int, default=8, help="of each page, its dials in turn")
    parser.add_argument("--pages", nargs="+", metavar="NAME", help="some of the pages, by the end of their address")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    st.page_link = lambda *_, **__: None  # type: ignore[assignment]  # a page alone knows no other pages
    empty_ms = median(timed(AppTest.from_string(EMPTY, default_timeout=120)) for _ in range(5))
    again = AppTest.from_string(EMPTY, default_timeout=120).run()
    again_ms = median(timed(again) for _ in range(5))
    rows = {}
    if not options.json:
        print(f"an empty page: opened {empty_ms:.0f} ms, again {again_ms:.0f} ms")
        print(f"{'page':<20}{'opening':>9}{'median':>9}{'p95':>9}  slowest dial")
    for entry in ENTRIES:
        if options.pages and entry.url not in options.pages:
            continue
        row = rows[entry.url] = measured(entry.file, options.moves, empty_ms, again_ms)
        if not options.json:
            middle, p95 = (f"{row[name]:.0f}" if row[name] is not None else "-" for name in ("median", "p95"))
            print(
                f"{entry.url:<20}{row['opening']:>9.0f}{middle:>9}{p95:>9}  {row['slowest']}{'  FAILED' * row['failed']}",
                flush=True,
            )
    if options.json:
        print(json.dumps({"empty_ms": empty_ms, "pages": rows}))


if __name__ == "__main__":
    main()
