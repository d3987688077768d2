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
from pathlib import Path

import pytest

from tests.browser.server import AppServer, wait_until_up

ROOT = Path(__file__).resolve().parents[1]
PREFIX = "attention_observatory/app/"


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


def test_it_needs_what_requirements_txt_says(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        (name,) = [one for one in files.namelist() if one.endswith("/METADATA")]
        needs = message_from_bytes(files.read(name)).get_all("Requires-Dist") or []
    written = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert {need for need in needs if ";" not in need} == {line for line in written if line and not line.startswith("#")}


def test_the_installed_command_serves_the_app_away_from_the_repository(wheel: Path, tmp_path: Path) -> None:
    """From a folder of its own, with the third-party packages of this environment and without the repository on the path."""
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as files:
        files.extractall(site)
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONUNBUFFERED": "1"}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "attention_observatory", "run", "--port", str(port)]
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=out, stderr=subprocess.STDOUT)
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
