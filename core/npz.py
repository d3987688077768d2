"""Writes and reads named arrays as an .npz file (numpy.lib.format): the same bytes for the same arrays, and no pickles."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike, NDArray

from core.messages import Refusal


class NpzError(Refusal, ValueError):
    """Bytes that are no readable .npz file; the message is a clause that says what is wrong with "it", the file."""


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


def from_bytes(data: bytes, names: Sequence[str], *, max_bytes: int) -> dict[str, NDArray[Any]]:
    """The named arrays of a file; other arrays in it are not read, and nothing is unpickled.

    Args:
        max_bytes: unpacked size up to which a file is read, so that a few kilobytes cannot fill the memory.

    Raises:
        NpzError: for what is no .npz file, a damaged one, one that unpacks to more, or one without a named array.
    """
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            sizes = {member.filename: member.file_size for member in archive.infolist()}
            unpacked = sum(member.file_size for member in archive.infolist())
            if unpacked > max_bytes:
                raise NpzError("it unpacks to {size} MiB: up to {most} are read", size=unpacked >> 20, most=max_bytes >> 20)
            for name in names:
                if f"{name}.npy" not in sizes:
                    raise NpzError("it lacks the array {name!r}: it must hold {names}", name=name, names=", ".join(names))
            return {name: _array(archive, f"{name}.npy") for name in names}
    except NpzError:
        raise
    except Exception as error:  # zipfile, zlib and numpy's header parser raise almost anything for damaged bytes
        raise NpzError("it is damaged, or no .npz file") from error


def _array(archive: zipfile.ZipFile, member: str) -> NDArray[Any]:
    with archive.open(member) as file:
        array: NDArray[Any] = npy.read_array(file, allow_pickle=False)
        file.read()  # to the end, where the checksum is compared
        return array
