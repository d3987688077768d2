"""Server time of one slider move on every lecture page.

    python -m scripts.bench_pages [--moves 5]

Prints the median and the largest time of the moves in milliseconds for each page; the goal is under 200.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

from streamlit.testing.v1 import AppTest

from pages.shared.navigation import ENTRIES, ROOT


def move(slider: Any) -> None:
    """A step up, or down from the top."""
    slider.set_value(slider.value + slider.step if slider.value + slider.step <= slider.max else slider.value - slider.step)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="server time of a slider on every lecture page")
    parser.add_argument("--moves", type=int, default=5)
    moves = parser.parse_args().moves
    print(f"{'page':<18}{'median ms':>10}{'largest ms':>12}")
    for entry in (one for one in ENTRIES if one.section == "Learn"):
        app = AppTest.from_file(str(ROOT / entry.file), default_timeout=120).run()
        taken = []
        for _turn in range(moves):
            if app.slider:
                move(app.slider[0])
            began = time.perf_counter()
            app.run()
            taken.append((time.perf_counter() - began) * 1e3)
        note = "" if app.slider else "  (no slider: run anew)"
        print(f"{entry.url:<18}{statistics.median(taken):>10.0f}{max(taken):>12.0f}{note}")


if __name__ == "__main__":
    main()
