"""The command that puts maps to the test, as a user runs it."""

import json
from pathlib import Path

import pytest

from core import checkpoints
from core.cli import main
from core.explain import faithfulness
from core.signs import bundled_measures
from core.vision.sight_files import SIGHT_CARD

MEASURED = ("tlob", "vit", "cct", "iiga")


@pytest.mark.parametrize("name", ["vit", "iiga_digits", "iiga_asl"])
def test_it_writes_what_it_prints(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Into the app's own folder, where what counted in the bundled clips of signs is written anew, too."""
    written = []
    monkeypatch.setattr(bundled_measures, "write", lambda many: written.append([one.name for one in many]))
    monkeypatch.setattr(faithfulness, "FOLDER", tmp_path.resolve())
    assert main(["faithful", name, "--most", "2", "--folder", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    kept = faithfulness.read(name, folder=tmp_path)
    assert kept is not None
    assert kept.samples == told["samples"] == 2
    assert kept.weights_sha256 == checkpoints.read_card(name, folder=checkpoints.FOLDER)["weights_sha256"]
    assert {method: one.gain for method, one in kept.verdicts.items()} == {
        method: one["gain"] for method, one in told["verdicts"].items()
    }
    assert written == ([["iiga_digits", "iiga_asl"]] if name.startswith("iiga") else [])
    # Where everything is deleted, every order ends alike.
    ends = {curve[-1] for curve in told["answers"].values()}
    assert max(ends) - min(ends) < 1e-5


def test_the_curves_of_what_stands_out_are_of_the_weights_that_are_kept() -> None:
    kept = faithfulness.read("sight")
    assert kept is not None and kept.weights_sha256 == SIGHT_CARD["weights_sha256"] and kept.samples >= 10
    assert set(kept.verdicts) == {"salience", "rollout", "class", "attention"}


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
