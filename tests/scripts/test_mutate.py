"""The mutants fit the code of today, and the run tells one that is noticed from one that is not."""

from dataclasses import replace
from pathlib import Path

import pytest

from scripts.mutate import Mutant, copy_tree, faults, outcome, read_mutants

TEST = "from half import half\n\n\ndef test_half():\n    assert half(4) == 2\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "half.py").write_text("def half(x):\n    return x / 2\n")
    (tmp_path / "test_half.py").write_text(TEST)
    (tmp_path / "conftest.py").write_text("")
    return tmp_path


HALF = Mutant(name="a third", file="half.py", before="x / 2", after="x / 3", test="test_half.py::test_half")


def test_every_mutant_fits_the_code_of_today() -> None:
    mutants = read_mutants()
    assert faults(mutants) == []
    assert len(mutants) >= 60 and len({one.name for one in mutants}) == len(mutants)
    assert not [one.name for one in mutants if one.file.startswith(("lab/", "tests/")) or one.before == one.after]


def test_a_text_that_is_gone_or_there_twice_and_a_test_that_is_gone_are_said(project: Path) -> None:
    assert faults([HALF], project) == []
    (gone,) = faults([replace(HALF, before="x // 2")], project)
    assert gone == "a third: its text stands 0 times in half.py, not once: write it for the code of today"
    assert "stands 2 times" in faults([replace(HALF, before="half"), replace(HALF, before="x")], project)[-1]
    assert faults([replace(HALF, test="test_half.py::test_third")], project) == [
        "a third: there is no test test_half.py::test_third"
    ]


def test_one_that_is_noticed_fails_its_test_and_the_file_is_as_before(project: Path) -> None:
    assert outcome(HALF, project, written_s=1) == 1
    assert outcome(replace(HALF, after="x * 0.5"), project, written_s=2) == 0
    assert (project / "half.py").read_text() == "def half(x):\n    return x / 2\n"
    assert sorted(path.name for path in project.glob("*.py*")) == ["conftest.py", "half.py", "test_half.py"]


def test_a_copy_has_what_git_has_and_new_files(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    copy = copy_tree(root, tmp_path)
    assert (copy / "core" / "nn" / "attention.py").read_bytes() == (root / "core" / "nn" / "attention.py").read_bytes()
    assert not (copy / ".git").exists() and not (copy / ".venv").exists()
