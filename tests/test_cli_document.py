"""Every command of docs/cli.md, run as it stands there with files of the names that it uses, and options that make it small."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from core.cli import main, record
from core.market import watch_list
from core.market.feeds.simulated import SimulatedFeed
from core.market.predictor import load_predictor
from core.market.store.rows import read_market
from core.signs.hands.model_files import HAND_FILES
from core.words.writer_files import WRITER_FILES
from lab.training.iiga_hands import SIGN_NAMES
from tests.core.market.helpers import EXCERPTS, frame_from_rows, random_book
from tests.core.market.journals import recorded
from tests.core.signs.tiny import save_tiny
from tests.core.training.test_tlob_run import SMALL
from tests.core.vision.test_photographs import PHOTOS
from tests.lab.training.test_iiga import TINY
from tests.lab.training.test_vit import PART, garments
from tests.lab.vision.test_idx import write

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "tests" / "fixtures"
LINES = [
    re.sub(r"\s+#.*$", "", line)
    for block in re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "cli.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    for line in block.splitlines()
]
COMMON = "--epochs 1 --layers 1 --width 16"
SMALL_CCT = f"{COMMON} --side 32 --heads 2 --hidden 16 --steps 2 --photos 4 --none 4 --warmup 1"
SMALL_VIT = f"{COMMON} --heads 2 --hidden 16 --patch 7 --batch 50 --warmup 1"
SMALL_HANDS = f"{COMMON} --heads 2 --steps 2 --batch 4 --warmup 1 --held-out 0.34"
SMALL_DATES = f"{COMMON} --steps 2 --hidden 16 --no-test"


def link(place: Path, to: Path) -> None:
    (Path.cwd() / place).symlink_to(to)


def books(*names: str, rows: int = 2_400) -> None:
    for seed, name in enumerate(names):
        frame_from_rows(random_book(rows, seed)).to_parquet(name)


def excerpts() -> None:
    Path("FOLDER").mkdir()
    for path in EXCERPTS[:2]:
        link(Path("FOLDER", path.name), path)


def idx() -> None:
    write(Path("IDX_FOLDER"), "train", PART.images, PART.labels)
    write(Path("IDX_FOLDER"), "t10k", garments(60).images, garments(60).labels)


def garment_photographs() -> None:
    Path("FOLDER").mkdir()
    for name in ("train", "validation"):
        link(Path("FOLDER", f"{name}.parquet"), PHOTOS / "validation.parquet")
    link(Path("A.parquet"), PHOTOS / "validation.parquet")
    link(Path("SIGNS"), FIXTURES / "signs" / "digits")


def digits() -> None:
    link(Path("FOLDER"), FIXTURES / "signs" / "digits")
    save_tiny(Path("TINY"))


def hands() -> None:
    if not HAND_FILES.available():
        pytest.skip("needs make hands")
    digits()
    random, signs = np.random.default_rng(0), SIGN_NAMES * 9
    frames = random.uniform(0.2, 0.8, (12 * len(signs), 2, 21, 2)).astype(np.float32)
    np.savez("A.npz", frames=frames, offsets=np.arange(len(signs) + 1) * 12, labels=np.array(signs))
    for name in ("B.npz", "C.npz"):
        np.savez(name, xy=random.uniform(0, 1, (40, 42)).astype(np.float32), label=np.arange(40) % 8)


def text() -> None:
    if not WRITER_FILES.available():
        pytest.skip("needs make writer")
    Path("TEXT.txt").write_text("The cat sat on the mat.", encoding="utf-8")


def two_days() -> None:
    rows = random_book(2_400, 0)
    frame_from_rows(rows[:1_200]).to_parquet("MONDAY.parquet")
    frame_from_rows(rows[1_200:]).to_csv("TUESDAY.csv", index=False)


def watched() -> None:
    watch_list.watch(Path("recordings"), "live/binance/BTC/USDT", on=True)


def played() -> None:
    rows = read_market([EXCERPTS[0]])[:160]
    made = recorded(Path("made"), rows, load_predictor(), spelling="live/binance/BTC/USDT BTC/USDT")
    Path("recordings/binance-BTC-USDT").mkdir(parents=True)
    made[0].parents[1].rename("recordings/binance-BTC-USDT/2024-08-08")


RUNS: dict[str, tuple[Callable[[], object], str]] = {
    "evaluate tlob --data assets": (lambda: None, "--every 9"),
    "inspect assets": (lambda: None, ""),
    "bench --quick": (lambda: None, "--only tlob --seconds 0"),
    "train tlob": (lambda: books("A.parquet", "B.parquet", "C.parquet"), " ".join(SMALL)),
    "train vit": (idx, SMALL_VIT),
    "train cct": (garment_photographs, SMALL_CCT),
    "train iiga --": (lambda: link(Path("FOLDER"), FIXTURES / "signs" / "boston104"), " ".join(TINY)),
    "train iiga-hands": (hands, SMALL_HANDS),
    "train dates": (lambda: None, SMALL_DATES),
    "evaluate tlob --data A.parquet --horizon": (lambda: link(Path("A.parquet"), EXCERPTS[0]), ""),
    "evaluate tlob --data A.parquet --label": (lambda: books("A.parquet", rows=1_200), "--horizon 10"),
    "evaluate tlob --data FOLDER": (excerpts, "--every 3"),
    "evaluate vit": (idx, ""),
    "evaluate iiga --data FOLDER --split dev --json": (digits, "--clips 1 --folder TINY"),
    "evaluate iiga --data FOLDER --split dev --frame": (digits, "--clips 1 --folder TINY"),
    "evaluate writer": (text, ""),
    "faithful vit": (lambda: None, "--most 1"),
    "record binance": (lambda: None, "--seconds 1"),
    "record --all": (watched, "--seconds 1"),
    "verify": (played, ""),
    "inspect MONDAY": (two_days, ""),
}
"""First words of a line -> what makes its files, and the options that make it small."""
ELSEWHERE = {
    "setup hands": (
        "tests/core/signs/hands/test_model_files.py",
        'main(["setup", "hands"',
    )  # with files that stand for a download
}
"""Lines that another test runs."""


def test_every_line_is_run_once() -> None:
    for line in LINES:
        begun = [one for one in (*RUNS, *ELSEWHERE) if line.startswith(f"python -m core {one}")]
        assert len(begun) == 1, f"{line}: {begun}"
    assert len(LINES) == len(RUNS) + len(ELSEWHERE)
    for file, call in ELSEWHERE.values():
        assert call in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("begun", RUNS)
def test_a_line_of_the_document_runs(
    begun: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = [one for one in LINES if one.startswith(f"python -m core {begun}")]
    prepare, smaller = RUNS[begun]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(record, "LiveFeed", simulated)
    link(Path("assets"), ROOT / "assets")
    prepare()
    assert main([*shlex.split(line)[3:], *smaller.split()]) == 0, capsys.readouterr().err
    assert capsys.readouterr().out


def simulated(exchange: str, symbol: str) -> SimulatedFeed:
    feed = SimulatedFeed(3, start_ms=1_700_000_000_000)
    feed.key, feed.market = f"live/{exchange}/{symbol}", symbol
    return feed
