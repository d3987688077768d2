"""The wheel: everything the app needs is in it, and it runs from a folder that is not the repository."""

import json
import os
import subprocess
import sys
import urllib.request
import venv
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

import attention_light
import attention_observatory
from tests.browser.server import serve

ROOT = Path(__file__).resolve().parents[1]
PREFIX = "attention_observatory/"
BASE = {"attention-light", "numpy", "pandas", "pillow", "pyarrow", "safetensors", "torch"}

SHIPPED = {".py", ".js", ".css", ".json"}

IMPORTED_AS = {"nvidia-ml-py": "pynvml", "pillow-heif": "pillow_heif", "python-json-logger": "pythonjsonlogger", "pillow": "PIL"}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both wheels, the library's and the view's."""
    folder = tmp_path_factory.mktemp("wheels")
    built = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([*built, ".", "./attention_light"], cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def wheel(wheels: Path) -> Path:
    (made,) = wheels.glob("attention_observatory-*.whl")
    return made


def test_it_holds_every_file_of_the_app_and_nothing_beside(wheel: Path) -> None:
    wanted = ["core", "pages", "assets", ".streamlit", "streamlit_app.py", "LICENSE", "THIRD_PARTY.md"]
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
    for one in wheel.parent.glob("*.whl"):
        with zipfile.ZipFile(one) as files:
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
    light = attention_light.__version__
    app = {"app", "films", "gpu", "live", "plots", "words"}
    ranges = [
        one
        for one in needs
        if one.marker is None or (any(one.marker.evaluate({"extra": extra}) for extra in app) and not one.extras)
    ]
    assert {one.name for one in ranges} == {"attention-light", *pins}
    assert not [str(one) for one in ranges if not one.specifier.contains({"attention-light": light, **pins}[one.name])]


WITHOUT = """
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if path is None and absent(name):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
"""Imports of top-level packages fail for which `absent` is true."""
VIEW = """
absent = lambda name: name not in ("attention_light", "numpy", *sys.stdlib_module_names)
import numpy as np
import attention_light as light

weights = np.full((2, 4, 4), 0.25)
pixels = np.zeros((300, 400, 3), np.uint8)
stage = light.PictureStage(pixels=pixels, grid=(2, 2))
scene = light.AttentionScene(stage=stage, layers=[light.LayerMaps(name="l", weights=weights)])
print(scene.save("view.html").stat().st_size)
"""


def test_the_view_is_a_small_package_that_needs_numpy_alone(wheels: Path, tmp_path: Path) -> None:
    (made,) = wheels.glob("attention_light-*.whl")
    assert made.stat().st_size < 300_000
    with zipfile.ZipFile(made) as files:
        names = set(files.namelist())
        files.extractall(tmp_path / "site")
    wanted = {one.relative_to(ROOT).as_posix() for one in (ROOT / "attention_light").rglob("*") if one.suffix in SHIPPED}
    assert {name for name in names if ".dist-info/" not in name} == wanted | {
        "attention_light/LICENSE",
        "attention_light/py.typed",
    }
    assert [str(one) for one in map(Requirement, metadata(made).get_all("Requires-Dist") or []) if one.marker is None] == [
        "numpy>=2.1"
    ]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT + VIEW], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0 and int(run.stdout) > 50_000, run.stderr


def test_both_install_from_one_folder_without_a_network(wheels: Path, tmp_path: Path) -> None:
    """Into a bare environment beside the third-party packages of this one."""
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    site = next((tmp_path / "env").glob("lib/python*/site-packages"))
    (site / "others.pth").write_text(f"{Path(np.__file__).parents[1]}\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-compile", "--no-index"]
    pip += ["--find-links", str(wheels)]
    subprocess.run([*pip, "attention-observatory"], check=True)  # which brings the other
    code = "import attention_light as light, attention_observatory as library; print(library.capture is light.capture)"
    run = subprocess.run([str(python), "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout == "True\n"


def test_its_version_is_the_projects(wheel: Path) -> None:
    assert metadata(wheel)["Version"] == attention_observatory.__version__
    assert f"## [{attention_observatory.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


ANSWERS = """
absent = lambda name: name in ABSENT
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
from attention_observatory.core.package_files import MAKE
from attention_observatory.__main__ import main
print(MAKE)
ABSENT.remove("tqdm")  # which training asks for before its laboratory
print([main(one.split()) for one in COMMANDS])
assert not {"core", "pages"} & {name.partition(".")[0] for name in sys.modules}
"""


COMMANDS = ("train vit --data x", "evaluate iiga --data x", "bench --quick")


def test_without_streamlit_and_the_extras_it_answers_as_the_app_does(site: Path) -> None:
    """With the six packages that it needs, every direct one of the others absent, and no laboratory."""
    pins = (line.split("==")[0] for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines())
    absent = {IMPORTED_AS.get(pin, pin.replace("-", "_")) for pin in pins if "#" not in pin} - {*BASE, "PIL"}
    photograph = next((ROOT / "assets").rglob("*.jpg")).relative_to(ROOT).as_posix()
    code = f"ABSENT = {absent!r}\nPHOTOGRAPH = {photograph!r}\nCOMMANDS = {COMMANDS}\n" + WITHOUT + ANSWERS
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
        "attention-observatory setup",
        "[2, 2, 2]",
    ]
    laboratory = "this needs the laboratory (lab/), which an installed package does not have: run it in the repository"
    assert run.stderr == "".join(f"attention-observatory {one.split()[0]}: {laboratory}\n" for one in COMMANDS)


def test_the_installed_command_serves_the_app_away_from_the_repository(site: Path, tmp_path: Path) -> None:
    """From a folder of its own, with the third-party packages of this environment and without the repository on the path."""
    command = ["sh", "-c", f'exec "{sys.executable}" -m attention_observatory run --port "$PORT"']
    with serve(tmp_path, tmp_path, root=tmp_path, environment=environment_of(site), command=command) as server:
        with urllib.request.urlopen(f"{server.url}/healthz", timeout=30) as answer:
            assert json.load(answer)["ready"] is True
        with urllib.request.urlopen(f"{server.url}/classify", timeout=30) as answer:
            assert b"<html" in answer.read()
        assert server.errors() == []
    assert str(ROOT) not in server.written()
