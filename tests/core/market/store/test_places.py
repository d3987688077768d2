"""Files below a folder, and every text that is none: answered with files or a sentence."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.market.book import BookError
from core.market.store import places
from core.market.store.places import files_at, files_below, library_folder


def test_the_library_is_a_folder_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert library_folder("mine") == Path("mine")
    monkeypatch.setenv("OBSERVATORY_RECORDINGS", "s3://a/b")
    with pytest.raises(BookError, match="^OBSERVATORY_RECORDINGS is s3://a/b, and the library is a folder of this machine$"):
        library_folder()
    with pytest.raises(BookError, match=r"^--folder is s3://a/b, and the library"):
        library_folder("s3://a/b")


def test_links_to_nowhere_and_hidden_files_are_none(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.parquet").write_bytes(b"xy")
    (tmp_path / "b.parquet").symlink_to(tmp_path / "gone.parquet")
    (tmp_path / "c.parquet").symlink_to(tmp_path / "deep" / "a.parquet")
    (tmp_path / "round").symlink_to(tmp_path)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "d.parquet").write_bytes(b"x")
    (tmp_path / ".e.parquet").write_bytes(b"x")
    assert sorted((file.relative, file.size) for file in files_below(tmp_path)) == [("c.parquet", 2), ("deep/a.parquet", 2)]


def test_a_file_that_is_written_again_is_another(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"x")
    (before,) = files_at(tmp_path, tmp_path / "a.csv", tmp_path / "b.csv")
    assert files_at(tmp_path, tmp_path / "a.csv") == [before]
    (tmp_path / "a.csv").write_bytes(b"yy")
    assert files_at(tmp_path, tmp_path / "a.csv") != [before]


def test_too_large_a_folder_is_not_listed_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").touch()
    looked = 0

    def walk(root: Path) -> Iterator[tuple[str, list[str], list[str]]]:
        nonlocal looked
        while True:
            looked += 1
            yield str(root), [], ["a"]

    monkeypatch.setattr(places, "MAX_FILES", 3)
    monkeypatch.setattr(places.os, "walk", walk)
    with pytest.raises(BookError, match="more than 3 files"):
        files_below(tmp_path)
    assert looked <= 5


@pytest.mark.parametrize("name", ["http://[", "s3://[", "a://\x00", "\x00", "x" * 9_000])
def test_a_hostile_name_ends_in_a_sentence(name: str) -> None:
    with pytest.raises(BookError, match=r"is no folder"):
        files_below(Path(name))
