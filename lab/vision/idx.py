"""Fashion-MNIST's official IDX files: read from a folder, or downloaded from the data set's own address.

Source: Xiao, Rasul and Vollgraf 2017, github.com/zalandoresearch/fashion-mnist (addresses and MD5 from its README).
"""

import gzip
import hashlib
import math
import struct
import sys
import urllib.request
import zlib
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

ADDRESS = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
"""Address at which the data set's authors keep the files."""

MD5 = {
    "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
}
"""The published digests, by file name."""

Images = npt.NDArray[np.uint8]
"""(n, 28, 28) grey levels, 0 the background."""
Labels = npt.NDArray[np.int64]
"""(n,) classes 0 to 9."""


class IdxError(ValueError):
    """Files that are missing or damaged; the message names them and says what would be right."""


@dataclass(frozen=True, kw_only=True)
class IdxPart:
    """The training or the test images with their labels."""

    images: Images
    labels: Labels

    def __len__(self) -> int:
        return len(self.labels)


def read_idx(path: Path) -> npt.NDArray[np.uint8]:
    """One IDX file of unsigned bytes, gzipped or not, as an array of the shape it states.

    Raises:
        IdxError: for a file that is missing, is not IDX, or is shorter or longer than its header says.
    """
    try:
        raw = path.read_bytes()
        data = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    except FileNotFoundError as error:
        raise IdxError(f"there is no file {path.name} in {path.parent}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise IdxError(f"{path.name} is damaged: {error}") from error
    if len(data) < 4 or data[:3] != b"\x00\x00\x08" or not 1 <= data[3] <= 4 or len(data) < 4 + 4 * data[3]:
        raise IdxError(f"{path.name} is not an IDX file of bytes: it must begin with 00 00 08 and the number of axes")
    axes = data[3]
    shape = struct.unpack(f">{axes}I", data[4 : 4 + 4 * axes])
    if len(data) - 4 - 4 * axes != math.prod(shape):
        raise IdxError(f"{path.name} is damaged: its header says {shape}, but {len(data) - 4 - 4 * axes:,} bytes follow")
    return np.frombuffer(data, np.uint8, offset=4 + 4 * axes).reshape(shape).copy()  # writable


def _find(folder: Path, name: str) -> Path:
    plain = folder / name.removesuffix(".gz")
    return plain if plain.exists() and not (folder / name).exists() else folder / name


def file_paths(folder: Path, part: str) -> tuple[Path, Path]:
    """The images' and the labels' file of a part ("train" or "t10k"), gzipped or not."""
    return _find(folder, f"{part}-images-idx3-ubyte.gz"), _find(folder, f"{part}-labels-idx1-ubyte.gz")


def read_part(folder: Path, part: str) -> IdxPart:
    """The part "train" (60,000 images) or "t10k" (the 10,000 test images).

    Raises:
        IdxError: where a file is missing or damaged, or images and labels do not belong together.
    """
    images, labels = (read_idx(path) for path in file_paths(folder, part))
    if images.ndim != 3 or images.shape[1:] != (28, 28) or labels.shape != (len(images),):
        raise IdxError(f"the {part} files do not fit: images {images.shape} and labels {labels.shape}, not (n, 28, 28) and (n,)")
    if len(labels) and labels.max() > 9:
        raise IdxError(f"the {part} labels go to {labels.max()}: Fashion-MNIST has classes 0 to 9")
    return IdxPart(images=images, labels=labels.astype(np.int64))


def fetch_missing(folder: Path, part: str, *, address: str = ADDRESS) -> None:
    """Download all files that the folder lacks, with a bar, each checked against its published MD5 before it is put there.

    Args:
        part: "train" or "t10k"; nothing is fetched where its two files are there.

    Raises:
        IdxError: without a network, or for a file other than the published one; no partial file is left behind.
    """
    lacking = [name for name in MD5 if not _find(folder, name).exists()]
    for name in lacking if any(name.startswith(part) for name in lacking) else ():
        try:
            data = _download(address + name, name)
        except (URLError, OSError, ValueError) as error:
            raise IdxError(
                f"{name} is not in {folder} and could not be downloaded from {address} ({error}): put the four official "
                "files there, or connect to the internet"
            ) from error
        digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
        if digest != MD5[name]:
            raise IdxError(f"{address}{name} sent a file whose MD5 is {digest}, not the published {MD5[name]}; it was not kept")
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"{name}.partial"
        partial.write_bytes(data)
        partial.replace(folder / name)


def _download(address: str, name: str) -> bytes:
    with urllib.request.urlopen(address, timeout=30) as answer:
        total = int(answer.headers.get("Content-Length") or 0) or None
        with tqdm.wrapattr(answer, "read", total=total, desc=name, file=sys.stderr) as read:
            return b"".join(iter(lambda: read.read(1 << 18), b""))


def stratified_split(labels: Labels, held_out: int, *, seed: int = 0) -> tuple[Labels, Labels]:
    """Sorted rows to train on, and `held_out` sorted rows to validate on with equal numbers of each class.

    Raises:
        ValueError: where the classes cannot give equal numbers.
    """
    classes = np.unique(labels)
    each, rest = divmod(held_out, len(classes))
    if rest or any((labels == one).sum() < each for one in classes):
        raise ValueError(
            f"{held_out} validation images cannot be taken evenly from {len(classes)} classes of {len(labels)} images"
        )
    random = np.random.default_rng(seed)
    chosen = np.sort(np.concatenate([random.permutation(np.flatnonzero(labels == one))[:each] for one in classes]))
    return np.setdiff1d(np.arange(len(labels)), chosen), chosen
