"""Changes the product in one place at a time and expects the test that is named to fail: `python -m scripts.mutate [NAME...]`.

`tests/mutants.toml` is the list. The repository stays as it is: each of two workers has a copy of its own. Tests run in
forks of a process that has imported the large libraries once.
"""

import multiprocessing
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Final, NoReturn

import pytest
from tqdm import tqdm

ROOT: Final = Path(__file__).resolve().parents[1]
LIST: Final = ROOT / "tests" / "mutants.toml"
WORKERS: Final = 2
PYTEST: Final = ("-q", "-x", "-p", "no:cacheprovider", "--timeout", "100")
FORKS: Final = multiprocessing.get_context("forkserver")
LIBRARIES: Final = ["torch", "pandas", "pyarrow.parquet", "scipy.stats", "hypothesis", "plotly.graph_objects", "streamlit"]
OURS: Final = ("attention_light", "attention_observatory", "core", "lab", "pages", "scripts", "tests")
OUTPUT: Final = "pytest.txt"
"""File of a copy with what pytest said last."""
FAILED: Final = 1
"""Exit status of pytest where a test fails; 0 where none does, more where it could not be run."""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A change to one file.

    Attributes:
        name: says what is wrong then. before, after: text that is there once, and what stands in its place.
        test: that fails then, as pytest names it.
    """

    name: str
    file: str
    before: str
    after: str
    test: str


def read_mutants(path: Path = LIST) -> list[Mutant]:
    """The mutants of a list."""
    return [Mutant(**row) for row in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]]


def faults(mutants: Sequence[Mutant], root: Path = ROOT) -> list[str]:
    """Sentences on mutants that no longer fit: their text is not in their file exactly once, or their test is gone."""
    found = []
    for one in mutants:
        file, (test, _, name) = root / one.file, one.test.partition("::")
        count = file.read_text(encoding="utf-8").count(one.before) if file.is_file() else 0
        if count != 1:
            found.append(f"{one.name}: its text stands {count} times in {one.file}, not once: write it for the code of today")
        if not ((root / test).is_file() and f"def {name}(" in (root / test).read_text(encoding="utf-8")):
            found.append(f"{one.name}: there is no test {one.test}")
    return found


def copy_tree(root: Path, to: Path) -> Path:
    """Copy what git has of a repository, changes and new files included; returns where it lies."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode().split("\0")
    for name in filter(None, listed):
        if (root / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, to / name)
    return to


def run_tests(where: Path, tests: Sequence[str]) -> int:
    """Run tests in a copy; returns what pytest ends with. What it says goes to `OUTPUT`."""
    main = sys.modules["__main__"]
    try:
        # a fork runs the main file anew, and a test of a page leaves that page there
        sys.modules["__main__"] = sys.modules[__name__]
        process = FORKS.Process(target=_run_here, args=(where, tests))
        process.start()
    finally:
        sys.modules["__main__"] = main
    process.join()
    return process.exitcode or 0


def _run_here(where: Path, tests: Sequence[str]) -> NoReturn:
    """End this process with what pytest ends with; modules of the repository are those of the copy."""
    written = os.open(where / OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(written, 1)
    os.dup2(written, 2)
    sys.path[:] = [str(where), *(one for one in sys.path if Path(one).resolve() != ROOT)]
    for name in [one for one in sys.modules if one.partition(".")[0] in OURS]:
        del sys.modules[name]
    os.chdir(where)
    os._exit(int(pytest.main([*PYTEST, *tests])))


def outcome(mutant: Mutant, where: Path, *, written_s: int) -> int:
    """Apply a mutant to a copy, run its test, and take the change back; returns what pytest ended with.

    Args:
        written_s: time of the changed file, which no other version of it may have: Python tells compiled files by it.
    """
    file = where / mutant.file
    kept = file.with_name(f"{file.name}.kept")
    shutil.copy2(file, kept)
    file.write_text(file.read_text(encoding="utf-8").replace(mutant.before, mutant.after), encoding="utf-8")
    os.utime(file, (written_s, written_s))
    try:
        return run_tests(where, [mutant.test])
    finally:
        kept.replace(file)


def main(names: Sequence[str]) -> int:
    """Run all mutants, or those named; returns 0 where every test fails as it should, 1 where one does not, 2 for a bad list."""
    mutants = [one for one in read_mutants() if not names or one.name in names]
    if wrong := faults(mutants):
        print(*wrong, sep="\n", file=sys.stderr)
        return 2
    os.environ["OMP_NUM_THREADS"] = "1"
    FORKS.set_forkserver_preload(LIBRARIES)
    with TemporaryDirectory() as folder, ThreadPoolExecutor(WORKERS) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for copy in pool.map(lambda number: copy_tree(ROOT, Path(folder, str(number))), range(WORKERS)):
            copies.put(copy)
        if run_tests(copy, list(dict.fromkeys(one.test for one in mutants))):
            print((copy / OUTPUT).read_text()[-2_000:], "a test of the list fails as the code stands", sep="\n", file=sys.stderr)
            return 1

        def said_of(number: int, mutant: Mutant) -> str:
            where = copies.get()
            ended = outcome(mutant, where, written_s=number)
            copies.put(where)
            return "" if ended == FAILED else f"{mutant.name}: {mutant.test} ended with {ended}, not with {FAILED}"

        runs = pool.map(said_of, range(1, len(mutants) + 1), mutants)
        missed = [one for one in tqdm(runs, total=len(mutants), unit="mutant", disable=None) if one]
    print(*missed, f"{len(mutants) - len(missed)} of {len(mutants)} mutants were noticed", sep="\n")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
