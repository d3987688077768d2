"""A place of recordings answers every address, and every state of a disk, with files or with one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.market.book import BookError
from core.market.recordings import place
from core.market.recordings.place import RecordingPlace


def test_a_link_to_nowhere_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"x")
    (tmp_path / "b.parquet").symlink_to(tmp_path / "gone.parquet")
    assert [file.relative for file in RecordingPlace(str(tmp_path)).files()] == ["a.parquet"]


def test_too_large_a_folder_is_not_listed_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0

    def walk(root: Path) -> Iterator[tuple[str, list[str], list[str]]]:
        nonlocal looked
        while True:
            looked += 1
            yield str(Path(__file__).parent), [], [Path(__file__).name]

    monkeypatch.setattr(place, "MAX_FILES", 3)
    monkeypatch.setattr(place.os, "walk", walk)
    with pytest.raises(BookError, match="more than 3 files"):
        RecordingPlace(str(Path(__file__).parent)).files()
    assert looked <= 5


@pytest.mark.parametrize(
    "address", ["http://[", "https://[::1/x", "http://", "http://[x]/", "s3://[", "a://\x00", "\x00", "x" * 9_000]
)
def test_a_hostile_address_ends_in_a_sentence(address: str) -> None:
    with pytest.raises(BookError, match=r"may not be asked|is no folder"):
        RecordingPlace(address).files()
