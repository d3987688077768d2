"""Recordings of a folder by market and day."""

import shutil
from pathlib import Path

import pytest

from core.market.answers.recordings import find_recordings
from core.market.book import BookError
from tests.core.market.helpers import EXCERPTS


def test_a_folders_files_are_grouped_and_others_passed_over(tmp_path: Path) -> None:
    for name in ("a_2024-01-01.parquet", "b/2024-01-02/07/rows_1.parquet", "b/2024-01-02/08/rows_2.parquet", ".c.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(EXCERPTS[0], tmp_path / name)
    (tmp_path / "notes.csv").write_text("day,weather\n1,fine\n")
    found = find_recordings([tmp_path])
    assert [(one.name, one.market, [path.relative_to(tmp_path).as_posix() for path in one.paths]) for one in found] == [
        ("a_2024-01-01", "a", ["a_2024-01-01.parquet"]),
        ("b/2024-01-02", "b", ["b/2024-01-02/07/rows_1.parquet", "b/2024-01-02/08/rows_2.parquet"]),
    ]


def test_nothing_to_score_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BookError, match="holds no order-book file: Parquet or CSV"):
        find_recordings([tmp_path])
    with pytest.raises(BookError, match="gone is not there: name a folder"):
        find_recordings([tmp_path / "gone"])


def test_two_folders_with_a_file_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        shutil.copy(EXCERPTS[0], tmp_path / folder / "a_2024-01-01.parquet")
    with pytest.raises(BookError, match=r"two folders hold a file a_2024-01-01\.parquet"):
        find_recordings([tmp_path / "x", tmp_path / "y"])
