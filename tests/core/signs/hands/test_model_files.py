"""The set-up step: what it takes out of the package, and what it says where something is wrong."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from core.cli import main
from core.package_files import MissingModels
from core.signs.hands.model_files import HAND_FILES, MEMBERS


@pytest.fixture
def small_models(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Stands two short texts in for the models, with their own checksums."""
    contents = {name: name.encode() for name in MEMBERS}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    monkeypatch.setattr(HAND_FILES, "digests", digests)
    monkeypatch.setattr(HAND_FILES, "members", {name: (MEMBERS[name][0], digest) for name, digest in digests.items()})
    monkeypatch.setattr(HAND_FILES, "runner", "torch")
    return contents


def package(path: Path, contents: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(MEMBERS[name][0], content)
    return path


def test_the_models_are_taken_out_of_the_package(
    tmp_path: Path, small_models: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    wheel, folder = package(tmp_path / "one.whl", small_models), tmp_path / "models"
    assert not HAND_FILES.available(folder)
    assert main(["setup", "hands", "--package", str(wheel), "--folder", str(folder)]) == 0
    assert "palm_detection_full.tflite" in capsys.readouterr().out
    assert {name: path.read_bytes() for name, path in HAND_FILES.checked(folder).items()} == small_models


def test_a_changed_model_is_refused_and_nothing_written(
    tmp_path: Path, small_models: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "models"
    wheel = package(tmp_path / "one.whl", small_models | {"hand_landmark_full.tflite": b"another"})
    assert main(["setup", "hands", "--package", str(wheel), "--folder", str(folder)]) == 2
    assert "hand_landmark_full.tflite in one.whl is not the published model" in capsys.readouterr().err
    assert not folder.exists()
    (tmp_path / "two.whl").write_bytes(b"no archive")
    for other in (tmp_path / "two.whl", package(tmp_path / "three.whl", {})):
        assert main(["setup", "hands", "--package", str(other), "--folder", str(folder)]) == 2
        assert f"{other.name} is not the package that holds the models" in capsys.readouterr().err
    assert not folder.exists()


def test_a_model_that_was_changed_later_is_not_run(tmp_path: Path, small_models: dict[str, bytes]) -> None:
    HAND_FILES.set_up(tmp_path, package(tmp_path / "one.whl", small_models))
    assert HAND_FILES.available(tmp_path)
    (tmp_path / "hand_landmark_full.tflite").write_bytes(b"another")
    with pytest.raises(MissingModels, match="run `make hands` again"):
        HAND_FILES.checked(tmp_path)
