"""Photographs in Parquet files: the ten kinds (D30), and the sentence for each bad folder or file."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.vision.photographs import KINDS, Photograph, PhotographsError, photograph_files, photographs

PHOTOS = Path(__file__).resolve().parents[2] / "fixtures" / "garment_photos"


def write(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


def test_the_bundled_photographs_are_one_of_each_kind() -> None:
    (path,) = photograph_files(PHOTOS)
    rows = list(photographs(path))
    assert sorted(row.kind for row in rows) == sorted(KINDS)
    assert all(row.data.startswith(b"\xff\xd8\xff") for row in rows)


def test_a_kind_has_one_class_and_another_kind_has_none() -> None:
    assert Photograph(file="a", kind="pants", data=b"").name == "Trousers"
    assert Photograph(file="a", kind="blazer", data=b"").name is None
    assert len(set(KINDS.values())) == 10


def test_a_split_is_the_file_of_its_name(tmp_path: Path) -> None:
    for name in ("b", "a"):
        write(tmp_path / f"{name}.parquet", [{"file": "x", "kind": "Hat", "jpeg": b"1"}])
    assert [path.stem for path in photograph_files(tmp_path)] == ["a", "b"]
    assert [path.stem for path in photograph_files(tmp_path, "b")] == ["b"]
    assert next(photographs(tmp_path / "a.parquet")).kind == "hat"
    with pytest.raises(PhotographsError, match="no split 'c': its Parquet files are a, b"):
        photograph_files(tmp_path, "c")
    assert photograph_files(tmp_path / "none") == [] and photograph_files(tmp_path / "a.parquet") == [tmp_path / "a.parquet"]


def test_bad_files_get_one_sentence(tmp_path: Path) -> None:
    write(tmp_path / "narrow.parquet", [{"file": "x", "label": 1}])
    (tmp_path / "text.parquet").write_text("no table")
    write(tmp_path / "empty.parquet", [{"file": "x", "kind": "hat", "jpeg": None}])
    for name, words in (
        ("narrow", "lacks the columns kind, jpeg"),
        ("text", "is damaged, or no Parquet file"),
        ("empty", "is damaged"),
    ):
        with pytest.raises(PhotographsError, match=words):
            list(photographs(tmp_path / f"{name}.parquet"))
