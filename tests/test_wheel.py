"""The wheel: everything the app needs is in it, and it runs from a folder that is not the repository."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.request
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

import attention_observatory
from tests.browser.server import AppServer, wait_until_up

ROOT = Path(__file__).resolve().parents[1]
PREFIX = "attention_observatory/"
BASE = {"numpy", "pandas", "pillow", "pyarrow", "safetensors", "torch"}

IMPORTED_AS = {"nvidia-ml-py": "pynvml", "pillow-heif": "pillow_heif", "python-json-logger": "pythonjsonlogger", "pillow": "PIL"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(folder),
        ".",
    ]
    subprocess.run(command, cwd=ROOT, check=True)
    (made,) = folder.glob("*.whl")
    return made


def test_it_holds_every_file_of_the_app_and_nothing_beside(wheel: Path) -> None:
    wanted = [
        "core",
        "pages",
        "assets",
        ".streamlit",
        "streamlit_app.py",
        "LICENSE",
        "THIRD_PARTY.md",
    ]  # the System page shows both
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *wanted]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
    assert {f"{PREFIX}{name}" for name in listed if name and (ROOT / name).is_file()} <= set(names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"attention_observatory"}
    assert not [name for name in names if name.endswith(".pyc")]


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the wheel is installed in, and before it one whose `core` and `pages` must not be imported."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as files:
        files.extractall(folder / "site")
    for name in ("core", "lab", "pages"):
        (folder / "other").mkdir(exist_ok=True)
        (folder / "other" / f"{name}.py").write_text(f"raise ImportError('{name} is of another project')")
    return folder


def environment_of(site: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(site / "other"), str(site / "site")]), "PYTHONUNBUFFERED": "1"}


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as files:
        (name,) = [one for one in files.namelist() if one.endswith("/METADATA")]
        return message_from_bytes(files.read(name))


def test_the_apps_pins_lie_within_the_ranges_of_the_library(wheel: Path) -> None:
    needs = [Requirement(need) for need in metadata(wheel).get_all("Requires-Dist") or []]
    assert {one.name for one in needs if one.marker is None} == BASE
    written = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in written if line and not line.startswith("#"))
    app = {"app", "films", "gpu", "live", "plots", "words"}
    ranges = [
        one
        for one in needs
        if one.marker is None or (any(one.marker.evaluate({"extra": extra}) for extra in app) and not one.extras)
    ]
    assert {one.name for one in ranges} == set(pins)
    assert not [str(one) for one in ranges if not one.specifier.contains(pins[one.name])]


def test_its_version_is_the_projects(wheel: Path) -> None:
    assert metadata(wheel)["Version"] == attention_observatory.__version__
    assert f"## [{attention_observatory.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


ANSWERS = """
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import attention_observatory as library

book = library.APP / "assets/recordings/binance_spot_btcusdt_2024-08-08.parquet"
answer = library.predict_book(book)
print(answer.to_frame()[["down", "stationary", "up"]].to_csv(index=False, header=False))
photograph = (library.APP / PHOTOGRAPH).read_bytes()
print(library.classify_photo(photograph).name)
for missing in (answer.plot, lambda: library.read_signs(b"")):
    try:
        missing()
    except ModuleNotFoundError as error:
        print(error)
assert not {"core", "pages"} & {name.partition(".")[0] for name in sys.modules}
"""


@pytest.mark.parametrize("command", ["train vit --data x", "evaluate iiga --data x", "bench --quick"])
def test_commands_of_the_laboratory_say_that_it_is_not_there(site: Path, command: str) -> None:
    words = [sys.executable, "-m", "attention_observatory", *command.split()]
    run = subprocess.run(words, cwd=site, env=environment_of(site), capture_output=True, text=True, check=False)
    wanted = "this needs the laboratory (lab/), which an installed package does not have: run it in the repository"
    assert (run.returncode, run.stderr) == (2, f"attention-observatory {command.split()[0]}: {wanted}\n")


def test_without_streamlit_and_the_extras_it_answers_as_the_app_does(site: Path) -> None:
    """With the six packages that it needs, and every direct one of the others absent."""
    pins = (line.split("==")[0] for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines())
    absent = {IMPORTED_AS.get(pin, pin.replace("-", "_")) for pin in pins if "#" not in pin} - {*BASE, "PIL"}
    photograph = next((ROOT / "assets").rglob("*.jpg")).relative_to(ROOT).as_posix()
    code = f"ABSENT = {absent!r}\nPHOTOGRAPH = {photograph!r}\n" + ANSWERS
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=site, env=environment_of(site), capture_output=True, text=True, check=True
    )
    lines = run.stdout.splitlines()
    shares = np.loadtxt(lines[:8], delimiter=",")
    here = attention_observatory.predict_book(ROOT / "assets/recordings/binance_spot_btcusdt_2024-08-08.parquet")
    np.testing.assert_allclose(shares, here.probabilities, atol=1e-4)
    garment, *missing = [line for line in lines[8:] if line]
    assert garment == attention_observatory.classify_photo(ROOT / photograph).name
    assert missing == [
        "plotly is not installed: pip install 'attention-observatory[plots]' brings it",
        "av is not installed: pip install 'attention-observatory[films]' brings it",
    ]


def test_the_installed_command_serves_the_app_away_from_the_repository(site: Path, tmp_path: Path) -> None:
    """From a folder of its own, with the third-party packages of this environment and without the repository on the path."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "attention_observatory", "run", "--port", str(port)]
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=tmp_path, env=environment_of(site), stdout=out, stderr=subprocess.STDOUT)
    server = AppServer(f"http://localhost:{port}", log, process)
    try:
        wait_until_up(server)
        with urllib.request.urlopen(f"{server.url}/healthz", timeout=30) as answer:
            assert json.load(answer)["ready"] is True
        with urllib.request.urlopen(f"{server.url}/classify", timeout=30) as answer:
            assert b"<html" in answer.read()
        assert server.errors() == []
    finally:
        server.stop()
    assert str(ROOT) not in server.written()
