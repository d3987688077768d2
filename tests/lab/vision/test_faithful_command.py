"""The command that puts maps to the test, as a user runs it."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from core import checkpoints
from core.cli import main
from core.explain import faithfulness
from core.vision import seen_samples, sight
from core.vision.sight import sight_reader
from core.vision.sight_files import SIGHT, SIGHT_FILES, WEIGHTS
from core.vision.walkthrough import tiles
from lab.vision.sight_evidence import METHODS, explain_photograph

MEASURED = ("tlob", "vit", "cct", "iiga")


@pytest.mark.parametrize("name", ["vit", "iiga_digits", "iiga_asl"])
def test_it_writes_what_it_prints(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faithful", name, "--most", "2", "--folder", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    kept = faithfulness.read(name, folder=tmp_path)
    assert kept is not None
    assert kept.samples == told["samples"] == 2
    assert kept.weights_sha256 == checkpoints.read_card(name, folder=checkpoints.FOLDER)["weights_sha256"]
    assert {method: one.gain for method, one in kept.verdicts.items()} == {
        method: one["gain"] for method, one in told["verdicts"].items()
    }
    # Where everything is deleted, every order ends alike.
    ends = {curve[-1] for curve in told["answers"].values()}
    assert max(ends) - min(ends) < 1e-5


def test_the_curves_of_what_stands_out_are_of_the_weights_that_are_kept() -> None:
    kept = faithfulness.read(SIGHT)
    assert kept is not None and kept.weights_sha256 == SIGHT_FILES.digests[WEIGHTS] and kept.samples >= 10
    assert set(kept.verdicts) == set(METHODS)


@pytest.mark.skipif(not SIGHT_FILES.available(), reason="needs `make sight`")
def test_evidence_of_a_photograph_is_the_mean_salience_of_what_stands_out() -> None:
    reader, picture = sight_reader(), seen_samples.sample("cup")
    seen, found = reader.read(picture, side=224), explain_photograph(sight_reader(), picture)
    with torch.no_grad():
        (value,) = found.function(found.inputs[None]).tolist()
        left, top, right, bottom = seen.inside
        colours = seen.pixels[top:bottom, left:right].reshape(-1, 3).mean(axis=0) / 255
        expected = (colours - sight.MEAN) / sight.STD
    assert value == pytest.approx(seen.salience[seen.salience > 0.5].mean(), rel=1e-4)
    torch.testing.assert_close(found.baseline[:, 5, 9].double(), torch.from_numpy(expected), atol=1e-4, rtol=1e-4)
    pixels = tiles(np.arange(224 * 224).reshape(224, 224, 1), 14)  # each patch's pixels, row by row
    for patch in (0, 17, 255):
        assert (found.parts.reshape(-1)[pixels[patch].ravel()] == patch).all()
    weights = seen.weights.astype(np.float64)
    np.testing.assert_allclose(found.importance["attention"], weights[-1].mean(axis=0)[0, 1:], rtol=1e-4)
    np.testing.assert_allclose(found.importance["class"], weights.mean(axis=(0, 1))[0, 1:], rtol=1e-4)


def test_a_model_without_maps_to_test_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faithful", "dates"]) == 2
    refusal = capsys.readouterr().err
    assert "dates is a transformer" in refusal and all(name in refusal for name in MEASURED)


@pytest.mark.parametrize("name", [name for model in MEASURED for name in checkpoints.names(model)])
def test_what_is_bundled_is_of_the_shipped_weights(name: str) -> None:
    kept = faithfulness.read(name)
    assert kept is not None, f"run `python -m core faithful {name}`"
    assert kept.weights_sha256 == checkpoints.read_card(name, folder=checkpoints.FOLDER)["weights_sha256"]
    assert kept.samples >= 10
