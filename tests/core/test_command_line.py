"""The command line: where it writes, how it ends, and the README's example of the library."""

import asyncio
import contextlib
import io
import re
import shlex
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import AsyncIterator, Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core import checkpoints
from core.cli import COMMANDS, exit_code, main, options, record, train
from core.explain import faithfulness
from core.market import watch_list
from core.market.feeds.protocol import FeedEvent, FeedFailed, Status, StatusChange
from core.market.feeds.simulated import SimulatedFeed
from core.market.predictor import load_predictor
from core.market.store.rows import read_market
from core.training.progress import counting_bar

ROOT = Path(__file__).resolve().parents[2]
TRACKED = ROOT / "tests" / "fixtures" / "signs" / "boston104"
DATES = ["train", "dates", "--epochs", "1", "--steps", "2", "--width", "16", "--hidden", "16", "--layers", "1", "--no-test"]


def shipped() -> dict[Path, tuple[int, int]]:
    """Size and time of every file that the app ships: they tell of one that was written again, with whatever bytes."""
    stats = {path: path.stat() for path in (ROOT / "assets").rglob("*") if path.is_file()}
    return {path: (stat.st_size, stat.st_mtime_ns) for path, stat in stats.items()}


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to run commands in; whatever they do, the app's own files stay what they were."""
    monkeypatch.chdir(tmp_path)
    before = shipped()
    yield tmp_path
    assert shipped() == before


def below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_what_is_trained_goes_to_a_folder_of_its_own(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(DATES) == 0
    assert below(elsewhere) == {"trained/dates.json", "trained/dates.safetensors"}
    assert capsys.readouterr().out.splitlines()[-1] == f"wrote {Path('trained/dates.json')} and its weights"
    assert main(["train", "iiga", "--data", str(TRACKED), "--width", "16", "--epochs", "1", "--layers", "1"]) == 0
    assert "trained/iiga_asl.json" in below(elsewhere)


def test_what_is_measured_goes_there_too(elsewhere: Path) -> None:
    assert main(["faithful", "vit", "--most", "1"]) == 0
    assert below(elsewhere) == {"trained/faithfulness_vit.json"}


TRAININGS = {
    "tlob": ["--data", "A.parquet"],
    "vit": ["--data", "IDX"],
    "cct": ["--data", "PHOTOS"],
    "vit-teacher": ["--data", "IDX", "--name", "vit"],
    "iiga": ["--data", str(TRACKED)],
    "iiga-hands": ["--data", "PHOTOS", "--signs", "A.npz", "--others", "B.npz"],
    "dates": [],
}


@pytest.mark.parametrize(
    "words",
    [
        *(["train", model, *needed, "--folder", str(checkpoints.FOLDER)] for model, needed in TRAININGS.items()),
        ["train", "dates", "--name", "other", "--state", str(checkpoints.FOLDER / "vit")],
        ["faithful", "vit", "--most", "1", "--folder", str(faithfulness.FOLDER)],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_shipped_file_is_replaced_only_where_that_is_asked_for(
    elsewhere: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert re.search(r"assets/\w+/\w+\.(json|safetensors) comes with the app: .*--overwrite\n$", capsys.readouterr().err)
    assert below(elsewhere) == set()


@pytest.mark.parametrize("name", checkpoints.names())
def test_a_cards_command_is_one_that_there_is(name: str) -> None:
    """With every option that it sets."""
    words = shlex.split(checkpoints.read_card(name)["command"])
    assert words[:4] == ["python", "-m", "core", "train"]
    parser = ArgumentParser()
    train.add_options(parser)
    assert parser.parse_args(words[4:]).model in TRAININGS


@pytest.mark.parametrize("name", checkpoints.names())
def test_a_script_that_a_card_names_is_there_or_its_commit_is_named(name: str) -> None:
    def look(entry: Any) -> None:
        for key, value in entry.items() if isinstance(entry, dict) else enumerate(entry) if isinstance(entry, list) else ():
            if isinstance(value, str) and (found := re.match(r"python -m scripts\.(\w+)", value)):
                there = (ROOT / "scripts" / f"{found[1]}.py").is_file()
                assert there or entry[str(key).replace("command", "commit")], value
            look(value)

    look(checkpoints.read_card(name))


def test_every_training_is_among_those(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    assert set(TRAININGS) == set(re.findall(r"^ {4}([a-z-]+)(?: |$)", capsys.readouterr().out, flags=re.MULTILINE))


def test_with_overwrite_it_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "ASSETS", tmp_path)  # as if these were shipped
    there = tmp_path / "dates.json"
    there.write_text("{}")
    assert main([*DATES, "--folder", str(tmp_path)]) == 2 and there.read_text() == "{}"
    assert main([*DATES, "--folder", str(tmp_path), "--overwrite"]) == 0
    assert checkpoints.read_card("dates", folder=tmp_path)["name"] == "dates"


# -- recording ----------------------------------------------------------------------------------------------------------------


class Silent(SimulatedFeed):
    """A venue that sends nothing."""

    def __init__(self, exchange: str, symbol: str) -> None:
        super().__init__(1)
        self.key, self.market = f"live/{exchange}/{symbol}", symbol
        self.clock = "wall"

    async def events(self) -> AsyncIterator[FeedEvent]:
        """A change of state, and no book."""
        yield StatusChange(state=Status.CONNECTING, message="no answer yet")
        if self.market == "NO/BODY":
            raise FeedFailed("binance has no market 'NO/BODY'")
        await asyncio.sleep(60)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["nosuch", "BTC/USDT"], "there is no exchange 'nosuch' in ccxt"),
        (["binance", "BTC/USDT"], "nothing was recorded of BTC/USDT on binance (at the end: connecting no answer yet)"),
        (["binance", "NO/BODY"], "binance has no market 'NO/BODY'"),
        ([], "name an exchange and a symbol, or --all"),
        (["a", "X/Y", "--all"], "name an exchange and a symbol, or --all, not both"),
        (["--all"], "the watch list of {folder} holds no market: begin recording one on the live page, or name it"),
    ],
)
def test_recording_nothing_fails_and_leaves_nothing(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], reason: str
) -> None:
    monkeypatch.setattr(record, "LiveFeed", Silent)
    assert main(["record", *words, "--folder", "below/library", "--seconds", "0.5"]) == 2
    reason = reason.replace("{folder}", "below/library")
    assert capsys.readouterr().err.splitlines()[-1] == f"python -m core record: {reason}"
    assert list(elsewhere.iterdir()) == []
    mine = elsewhere / "library" / "binance-BTC-USDT" / "2026-01-01" / "00" / "rows_1.parquet"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"of an earlier day")
    assert main(["record", *words, "--folder", "library", "--seconds", "0.5"]) == 2
    assert below(elsewhere) == {mine.relative_to(elsewhere).as_posix()}


def test_what_came_is_kept_and_told(elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(record, "LiveFeed", lambda exchange, symbol: SimulatedFeed(3, start_ms=1_700_000_000_000))
    assert main(["record", "binance", "BTC/USDT", "--folder", "library", "--seconds", "1"]) == 0
    assert [Path(line).as_posix() for line in capsys.readouterr().out.split()] == [
        path.relative_to(elsewhere).as_posix() for path in sorted(elsewhere.rglob("rows_*.parquet"))
    ]


def test_all_of_the_watch_list_are_recorded_and_one_that_fails_is_said_at_once_and_ends_no_other(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def feed(exchange: str, symbol: str) -> SimulatedFeed:
        if symbol == "NO/BODY":
            return Silent(exchange, symbol)
        made = SimulatedFeed(3, start_ms=1_700_000_000_000)
        made.key, made.market = f"live/{exchange}/{symbol}", symbol
        return made

    monkeypatch.setattr(record, "LiveFeed", feed)
    for key in ("live/binance/BTC/USDT:USDT", "live/kraken/NO/BODY", "live/kraken/BTC/USD"):
        watch_list.watch(elsewhere / "listed", key, on=True)
    assert main(["record", "--all", "--folder", "listed", "--seconds", "1"]) == 2
    made = {path.relative_to(elsewhere).parts[1] for path in elsewhere.rglob("rows_*.parquet")}
    assert made == {"binance-BTC-USDT-USDT", "kraken-BTC-USD"}
    out, err = capsys.readouterr()
    failed = "1 of 3 failed: NO/BODY on kraken: binance has no market 'NO/BODY'"
    assert f"{failed}; the others are recorded on" in err and err.splitlines()[-1] == f"python -m core record: {failed}"
    assert len(out.split()) == 2


# -- what a person sees -------------------------------------------------------------------------------------------------------


def test_what_goes_wrong_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def without(package: str) -> Callable[[], None]:
        def run() -> None:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)

        return run

    assert exit_code(without("av"), "mine") == exit_code(without("sklearn"), "mine") == 2
    assert capsys.readouterr().err.splitlines() == [
        f"mine: av is not installed: pip install av=={version('av')} installs it",
        f"mine: scikit-learn is not installed: pip install scikit-learn=={version('scikit-learn')} installs it",
    ]
    with pytest.raises(ModuleNotFoundError):
        exit_code(without("core.nothing"), "mine")


def test_a_file_that_is_not_there_is_named(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run() -> None:
        Path("A.npz").read_bytes()

    assert exit_code(run, "mine") == 2 and capsys.readouterr().err == "mine: there is no A.npz\n"


def test_progress_is_on_standard_error_from_the_first_count_on(capsys: pytest.CaptureFixture[str]) -> None:
    bar = counting_bar("photograph")
    assert capsys.readouterr() == ("", "")
    for done in (1, 2, 3):
        bar(done, 3)
    printed = capsys.readouterr()
    assert printed.out == "" and "3/3" in printed.err and "photograph/s]" in printed.err


def test_the_readmes_example_says_what_the_model_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    printed = io.StringIO()
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    monkeypatch.chdir(tmp_path)  # it writes pages beside it
    with contextlib.redirect_stdout(printed):
        exec(compile(example, "README.md", "exec"), {})
    predictor = load_predictor()
    (path,) = [ROOT / one for one in re.findall(r'"(assets/recordings/[^"]+)"', example)]
    expected = predictor.predict(read_market([path]).levels[None, -128:], predictor.market(path.name)).probabilities[0]
    lines = [line for line in printed.getvalue().splitlines() if " steps: " in line]
    assert [tuple(line.split()[:2]) for line in lines] == [(label, str(steps)) for label, steps in predictor.heads]
    numbers = np.array([[float(one) for one in re.findall(r"\d\.\d{3}", line)] for line in lines])
    np.testing.assert_allclose(numbers, expected, atol=6e-4)
    assert {one.name for one in tmp_path.glob("*.html")} == {"words.html", "mine.html"}


def test_the_commands_are_listed_without_importing_them() -> None:
    code = (
        "import sys; from core import cli\n"
        "try: cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "assert not {'torch', 'numpy', 'pandas'} & sys.modules.keys()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(COMMANDS) == set(re.findall(r"^ {4}([a-z]+)(?: |$)", done.stdout, flags=re.MULTILINE))
