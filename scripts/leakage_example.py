"""Trains what the leakage lab opens on, with each mistake by itself, and writes it down: `python -m scripts.leakage_example`."""

from __future__ import annotations

from typing import Final

from core.device import use_one_thread
from core.lecture import leakage
from core.market.book import read_rows

HORIZON: Final = 20


def main() -> None:
    """Train, measure, write."""
    use_one_thread()
    rows = read_rows(leakage.RECORDING)
    ways: list[tuple[leakage.Mistake, ...]] = [(), *((mistake,) for mistake in leakage.MISTAKES)]
    keys = {way: leakage.trained_with(way) for way in ways}
    trained = {key: leakage.run(rows, HORIZON, key) for key in dict.fromkeys(keys.values())}
    data = trained[()].data
    finished = leakage.FinishedLab(
        horizon=HORIZON,
        alpha=data.alpha,
        learnt_from=len(data.rows["train"]),
        score={way: leakage.measure(trained[key], way) for way, key in keys.items()},
    )
    leakage.FINISHED.write_text(finished.to_json(), encoding="utf-8")


if __name__ == "__main__":
    main()
