"""`python -m core evaluate tlob --adaptive`: probabilities recalibrated from the file's own past."""

from __future__ import annotations

import argparse
from typing import Any


def add_options(p: argparse.ArgumentParser) -> None:
    """`--adaptive` and `--thresholds`."""
    p.add_argument(
        "--adaptive",
        action="store_true",
        help="recalibrate the probabilities from the file's own past, and score after the first 1,000 outcomes (docs/value.md)",
    )
    p.add_argument(
        "--thresholds",
        choices=("card", "past"),
        default="card",
        help="with --adaptive: label thresholds from the card, or from the file's own first quarter hour",
    )


def table(answer: dict[str, Any]) -> list[str]:
    """Calibration before and after, and coverage, as lines of text."""
    if not answer.get("adaptive"):
        return []
    lines = [
        f"  {name:<12} log-loss {found['log_loss']:.4f}   calibration error {found['ece']:.4f}"
        for name, found in (("as written", answer["before"]), ("recalibrated", answer))
    ]
    c = answer["coverage"]
    lines.append(
        f"  sets         promised {c['promised']:.0%}   delivered {c['delivered']:.1%}, lately {c['delivered_last']:.1%}"
        f"   {c['mean_size']:.2f} classes on average"
    )
    return lines
