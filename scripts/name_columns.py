"""Gives a `drift` checkpoint the named columns of `flow`: `python -m scripts.name_columns NAME`.

The weights are those of the earlier network in new places (`core.training.tlob_start`), so the function stays the same within the
error that is printed: the largest difference of a probability over windows of the bundled recordings. Columns that the earlier
network did not have get weight 0. Scores in the card stay as they were measured; it tells of the change in `started_from`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from core import checkpoints
from core.market.book import read_market
from core.market.features import directed_inputs, input_names
from core.market.library import recordings
from core.market.predictor import Predictor, windows_of
from core.market.windows import window_ends
from core.models.tlob import TLOB, TLOBConfig
from core.training.tlob_start import fit_inputs

WINDOWS = 200
"""Windows of each recording that are compared."""


def convert(checkpoint: checkpoints.Checkpoint, folder: Path) -> None:
    """Write the checkpoint in its new form under its own name.

    Raises:
        ValueError: where it has other inputs than `drift`.
    """
    earlier, card = Predictor(checkpoint), dict(checkpoint.card)
    if earlier.transform != "drift":
        raise ValueError(f"{card['name']} has the inputs {earlier.transform}: only those of drift can be named anew")
    card["config"] = earlier.config.to_dict() | {"features": len(input_names("flow")), "directed": directed_inputs("flow")}
    card["transform"] = "flow"
    model = TLOB(TLOBConfig(**card["config"])).eval()
    model.load_state_dict(fit_inputs(model.state_dict(), "flow", checkpoint.weights))
    kept = ("command", "transform", "weights_sha256", "date")
    card["started_from"] = {key: checkpoint.card[key] for key in kept} | {"earlier": checkpoint.card["started_from"]}
    card["command"] = f"python -m scripts.name_columns {card['name']}"
    name = card.pop("name")
    checkpoints.save(name, model, card, folder=folder)
    print(f"largest difference of a probability: {compare(earlier, Predictor(checkpoints.load(name, folder=folder))):.1e}")


def compare(one: Predictor, other: Predictor) -> float:
    """The largest difference of two predictors' probabilities over windows of the bundled recordings."""
    found = 0.0
    for recording in recordings():
        rows = read_market([recording.path])
        ends = window_ends(rows.timestamps, one.window)
        windows = windows_of(rows.levels, ends[:: max(1, len(ends) // WINDOWS)], one.window)
        p, q = (each.predict(windows, each.market(recording.name)).probabilities for each in (one, other))
        found = max(found, float(np.abs(p - q).max()))
    return found


def main() -> None:
    """Convert one checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("name")
    parser.add_argument("--folder", type=Path, default=checkpoints.FOLDER)
    options = parser.parse_args()
    torch.manual_seed(0)
    convert(checkpoints.load(options.name, folder=options.folder), options.folder)


if __name__ == "__main__":
    main()
