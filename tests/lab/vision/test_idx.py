"""IDX files: a round trip, every way to be damaged, the split, and the download from an address of our own."""

import gzip
import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest

from lab.vision import idx
from lab.vision.idx import IdxError, read_idx, read_part, stratified_split


def encode(array: np.ndarray) -> bytes:  # type: ignore[type-arg]
    """The format as its authors describe it: two zero bytes, 8 for unsigned bytes, the number of axes, each axis's length."""
    return bytes([0, 0, 8, array.ndim]) + b"".join(struct.pack(">I", n) for n in array.shape) + array.tobytes()


def write(folder: Path, part: str, images: np.ndarray, labels: np.ndarray, *, zipped: bool = True) -> None:  # type: ignore[type-arg]
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in ((f"{part}-images-idx3-ubyte", images), (f"{part}-labels-idx1-ubyte", labels)):
        data = encode(array.astype(np.uint8))
        (folder / (f"{name}.gz" if zipped else name)).write_bytes(gzip.compress(data) if zipped else data)


IMAGES = np.random.default_rng(0).integers(0, 256, (30, 28, 28))
LABELS = np.arange(30) % 10


@pytest.mark.parametrize("zipped", [True, False])
def test_a_part_comes_back_as_it_was_written(tmp_path: Path, zipped: bool) -> None:
    write(tmp_path, "t10k", IMAGES, LABELS, zipped=zipped)
    part = read_part(tmp_path, "t10k")
    assert part.images.dtype == np.uint8
    np.testing.assert_array_equal(part.images, IMAGES)
    np.testing.assert_array_equal(part.labels, LABELS)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not an IDX file"),
        (b"%PDF-1.7 and so on", "not an IDX file"),
        (encode(np.zeros((2, 3), np.uint8))[:-1], "header says"),
        (encode(np.zeros((2, 3), np.uint8)) + b"x", "header says"),
        (gzip.compress(encode(np.zeros((20, 30), np.uint8)), mtime=0)[:-12], "damaged"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(data)
    with pytest.raises(IdxError, match=message) as caught:
        read_idx(path)
    assert path.name in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(IdxError, match=r"no file train-images-idx3-ubyte\.gz"):
        read_part(tmp_path, "train")


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [(IMAGES[:, :27], LABELS, "do not fit"), (IMAGES, LABELS[:-1], "do not fit"), (IMAGES, LABELS + 1, "classes 0 to 9")],
)
def test_parts_that_do_not_belong_together(
    tmp_path: Path,
    images: np.ndarray,  # type: ignore[type-arg]
    labels: np.ndarray,  # type: ignore[type-arg]
    message: str,
) -> None:
    write(tmp_path, "train", images, labels)
    with pytest.raises(IdxError, match=message):
        read_part(tmp_path, "train")


def test_the_split_takes_every_class_alike_and_nothing_twice() -> None:
    labels = np.random.default_rng(1).permutation(np.repeat(np.arange(10), 60))
    train, held_out = stratified_split(labels, 50, seed=4)
    assert np.bincount(labels[held_out]).tolist() == [5] * 10
    assert sorted([*train, *held_out]) == list(range(600))
    again = stratified_split(labels, 50, seed=4)[1]
    assert again.tolist() == held_out.tolist()
    assert stratified_split(labels, 50, seed=5)[1].tolist() != held_out.tolist()
    with pytest.raises(ValueError, match="evenly"):
        stratified_split(labels, 55)


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of four small files, whose digests are the published ones."""
    home = tmp_path / "there"
    write(home, "train", IMAGES, LABELS)
    write(home, "t10k", IMAGES[:10], LABELS[:10])
    digests = {path.name: hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest() for path in home.iterdir()}
    monkeypatch.setattr(idx, "MD5", digests)
    return home


def test_missing_files_are_fetched_and_checked(tmp_path: Path, published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "here"
    idx.fetch_missing(folder, "t10k", address=f"{published.as_uri()}/")
    here, there = ({path.name: path.read_bytes() for path in one.iterdir()} for one in (folder, published))
    assert here == there
    assert read_part(folder, "t10k").labels.tolist() == LABELS[:10].tolist()
    told = capsys.readouterr().err
    assert all(f"{path.name}: 100%" in told for path in published.iterdir())
    (folder / "t10k-labels-idx1-ubyte.gz").unlink()
    idx.fetch_missing(folder, "train", address="http://nowhere")  # its own files are there


def test_another_file_than_the_published_one_is_not_kept(tmp_path: Path, published: Path) -> None:
    write(published, "train", IMAGES[::-1], LABELS)
    with pytest.raises(IdxError, match="not the published"):
        idx.fetch_missing(tmp_path / "here", "train", address=f"{published.as_uri()}/")
    assert not list((tmp_path / "here").glob("train-images*"))
