"""Writes named arrays as an .npz file (numpy.lib.format): the same bytes for the same arrays, and no pickles."""

import zipfile
from collections.abc import Mapping
from io import BytesIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike


def to_bytes(arrays: Mapping[str, ArrayLike]) -> bytes:
    """The file, compressed.

    Raises:
        ValueError: for an array of Python objects, which only a pickle could hold.
    """
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, values in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy")  # dated 1980, so that the bytes depend on the arrays alone
            member.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(member, "w", force_zip64=True) as file:
                npy.write_array(file, np.asanyarray(values), allow_pickle=False)
    return buffer.getvalue()
