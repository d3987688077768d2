"""Whole files: of two that write one at once, each ends as if it were alone."""

import os
from pathlib import Path
from typing import IO

import pytest

from core.files import write_bytes, write_whole, written


def test_two_who_write_a_file_at_once_write_it_whole_and_the_later_counts(tmp_path: Path) -> None:
    path = tmp_path / "one"

    def in_two_halves(file: IO[bytes]) -> None:
        file.write(b"first ")
        write_bytes(path, b"another, which came in between")
        assert path.read_bytes() == b"another, which came in between"
        file.write(b"and second half")

    write_whole(path, in_two_halves)
    assert path.read_bytes() == b"first and second half"
    assert list(tmp_path.iterdir()) == [path]


def test_one_who_gives_up_takes_nothing_from_another_who_writes_the_same(tmp_path: Path) -> None:
    """A second press of a button ends the run of the first, in the middle of its file."""
    path = tmp_path / "one"

    def interrupted(file: IO[bytes]) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    def meanwhile(file: IO[bytes]) -> None:
        with pytest.raises(KeyboardInterrupt):
            write_whole(path, interrupted)
        file.write(b"whole")

    write_whole(path, meanwhile)
    assert path.read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [path]


def test_another_file_of_the_same_name_is_told_by_its_time(tmp_path: Path) -> None:
    path = tmp_path / "one"
    assert written([path]) == ((path, 0),)
    path.write_bytes(b"one")
    os.utime(path, ns=(1, 1))
    first = written([str(path)])
    os.utime(path, ns=(2, 2))
    assert first == ((path, 1),) and written([path]) == ((path, 2),)
