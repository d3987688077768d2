"""Files of named arrays, beside numpy's own reader and writer."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.npz import NpzError, from_bytes, to_bytes

ARRAYS = {
    "levels": np.random.default_rng(0).normal(size=(64, 40)),
    "layer 1": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    "glosses: intra 1": np.array([[1, 2], [3, 4]], dtype=np.uint8),
    "name": np.array("año"),
    "file": np.array(7),
}
MOST = 2**20


def test_numpy_reads_what_is_written() -> None:
    with np.load(io.BytesIO(to_bytes(ARRAYS)), allow_pickle=False) as arrays:
        assert set(arrays) == set(ARRAYS)
        for name, values in ARRAYS.items():
            np.testing.assert_array_equal(arrays[name], values)
            assert arrays[name].dtype == values.dtype


def test_what_numpy_writes_is_read() -> None:
    buffer = io.BytesIO()
    np.savez(buffer, first=ARRAYS["levels"], second=ARRAYS["name"])
    found = from_bytes(buffer.getvalue(), ("second", "first"), max_bytes=MOST)
    assert list(found) == ["second", "first"] and found["second"] == "año"
    np.testing.assert_array_equal(found["first"], ARRAYS["levels"])


def test_the_bytes_depend_on_the_arrays_alone() -> None:
    data = to_bytes(ARRAYS)
    assert data == to_bytes({name: values.copy(order="K") for name, values in ARRAYS.items()})
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_python_objects_are_not_written() -> None:
    with pytest.raises(ValueError, match="allow_pickle"):
        to_bytes({"objects": np.array([{}, None])})


def member(content: bytes, name: str = "x.npy", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def pickled() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, x=np.array([{}], dtype=object))
    return buffer.getvalue()


def broken_stream() -> bytes:
    """Bytes that zlib refuses where the array's should be."""
    data = bytearray(to_bytes({"x": ARRAYS["levels"]}))
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
        start = 30 + len("x.npy") + 20 + archive.infolist()[0].header_offset
    data[start + 40 : start + 80] = b"\xff" * 40
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive, pytest.raises(zlib.error):
        archive.read("x.npy")
    return bytes(data)


DAMAGED: dict[str, Any] = {
    "empty": lambda: b"",
    "text": lambda: b"PK not really",
    "cut": lambda: to_bytes(ARRAYS)[:-40],
    "zlib": broken_stream,
    "pickle": pickled,
    "no array": lambda: member(b"hello"),
    "endless brackets": lambda: member(header("(" * 9000)),
    "open string": lambda: member(header("{'descr': '''")),
    "more than its bytes": lambda: member(header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}\n")),
    "negative": lambda: member(header("{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}\n")),
    "trailing": lambda: member(to_bytes({"x": np.zeros(3)})[:20]),
}


@pytest.mark.parametrize("make", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_file_is_refused_in_one_clause(make: Any) -> None:
    with pytest.raises(NpzError, match="^it is damaged, or no .npz file$"):
        from_bytes(make(), ("x",), max_bytes=MOST)


def test_a_flipped_bit_of_an_array_is_noticed() -> None:
    buffer = io.BytesIO()
    np.savez(buffer, x=np.zeros(1000))  # not compressed: only the checksum can tell
    data = bytearray(buffer.getvalue())
    data[len(data) // 2] ^= 1
    with pytest.raises(NpzError, match="damaged"):
        from_bytes(bytes(data), ("x",), max_bytes=MOST)


def test_what_unpacks_to_too_much_is_refused_before_it_is_unpacked() -> None:
    bomb = member(bytes(65 * 2**20), "other.npy")
    assert len(bomb) < 100_000
    with pytest.raises(NpzError, match="it unpacks to 65 MiB: up to 64 are read"):
        from_bytes(bomb, ("x",), max_bytes=64 * 2**20)


def test_a_missing_array_is_named() -> None:
    with pytest.raises(NpzError, match="it lacks the array 'x': it must hold levels, x"):
        from_bytes(to_bytes(ARRAYS), ("levels", "x"), max_bytes=MOST)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=6), st.floats(0, 1))
def test_whatever_is_damaged_it_is_read_whole_or_refused(changes: list[tuple[int, int]], share: float) -> None:
    data = bytearray(to_bytes({"x": np.arange(40.0), "y": np.array("text")}))
    for at, value in changes:
        data[at % len(data)] = value
    if share < 0.5:
        data = data[: int(2 * share * len(data))]
    try:
        found = from_bytes(bytes(data), ("x", "y"), max_bytes=MOST)
    except NpzError:
        return
    np.testing.assert_array_equal(found["x"], np.arange(40.0))
