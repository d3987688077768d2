"""The results of the experiment on TLOB's pairs, as the page reads them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from core.lecture.pairs_experiment import CLAIMED, FILE, ExperimentError, load
from core.models.parameters import count
from core.models.tlob import TLOB
from core.training.tlob_pairs import PairsSettings


def test_the_bundled_results_are_of_the_bundled_data_and_networks() -> None:
    from core import checkpoints
    from core.market.store.index import FOLDER

    found = load()
    for one in found.data:
        assert checkpoints.sha256(FOLDER / one["file"]) == one["sha256"]
    settings = PairsSettings(steps=found.settings["steps"])
    for run in found.runs:
        assert run.parameters == count(TLOB(settings.config(run.pairs)))
    assert found.pairs[0] == 1 and set(found.pairs) <= CLAIMED.keys() and len(found.runs) <= found.asked


def test_means_and_spread(tmp_path: Path) -> None:
    raw = json.loads(FILE.read_text())
    raw["runs"] = [
        {"pairs": pairs, "seed": seed, "parameters": 1, "train_accuracy": 0.8, "test_accuracy": test, "test_macro_f1": 0.5}
        for pairs, seed, test in ((1, 0, 0.6), (1, 1, 0.7), (2, 0, 0.71))
    ]
    path = tmp_path / "found.json"
    path.write_text(json.dumps(raw))
    found = load(path)
    np.testing.assert_allclose(found.mean("test"), [0.65, 0.71])
    assert found.spread == pytest.approx(0.1) and found.gain == pytest.approx(0.06)
    path.write_text("{}")
    with pytest.raises(ExperimentError, match="python -m core pairs"):
        load(path)
