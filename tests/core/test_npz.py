"""Files of named arrays, which numpy's own reader reads."""

import io
import zipfile

import numpy as np
import pytest

from core.npz import to_bytes

ARRAYS = {
    "levels": np.random.default_rng(0).normal(size=(64, 40)),
    "layer 1": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    "glosses: intra 1": np.array([[1, 2], [3, 4]], dtype=np.uint8),
    "name": np.array("año"),
    "file": np.array(7),
}


def test_numpy_reads_what_is_written() -> None:
    with np.load(io.BytesIO(to_bytes(ARRAYS)), allow_pickle=False) as arrays:
        assert set(arrays) == set(ARRAYS)
        for name, values in ARRAYS.items():
            np.testing.assert_array_equal(arrays[name], values)
            assert arrays[name].dtype == values.dtype


def test_the_bytes_depend_on_the_arrays_alone() -> None:
    data = to_bytes(ARRAYS)
    assert data == to_bytes({name: values.copy(order="K") for name, values in ARRAYS.items()})
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_python_objects_are_not_written() -> None:
    with pytest.raises(ValueError, match="allow_pickle"):
        to_bytes({"objects": np.array([{}, None])})
