"""The two model files of the hand finder: where they lie, their checksums, and how they are taken out of MediaPipe's package.

The models are Google's, under Apache-2.0, and are not part of this project: `make hands` fetches the package once from the
package registry and takes the files out. The package itself is not installed, as it needs an older numpy.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from core import package_files
from core.messages import compose
from core.package_files import MissingModels

FOLDER: Final = Path(__file__).parents[3] / "assets" / "hands"
PACKAGE: Final = "mediapipe==0.10.21"
PLATFORM: Final = ("--platform", "manylinux_2_28_x86_64", "--python-version", "3.11", "--implementation", "cp")
"""Of the package that is read; the model files in it are the same for every platform."""
MEMBERS: Final = {
    "palm_detection_full.tflite": (
        "mediapipe/modules/palm_detection/palm_detection_full.tflite",
        "1b14e9422c6ad006cde6581a46c8b90dd573c07ab7f3934b5589e7cea3f89a54",
    ),
    "hand_landmark_full.tflite": (
        "mediapipe/modules/hand_landmark/hand_landmark_full.tflite",
        "11c272b891e1a99ab034208e23937a8008388cf11ed2a9d776ed3d01d0ba00e3",
    ),
    "LICENSE": (
        "mediapipe-0.10.21.dist-info/LICENSE",
        "8707eef0533987efc5b155d64761eeb6e20793f50b9bd1a68dad1cf4719d0ed8",
    ),
}
"""File name -> its place in the package and its SHA-256."""


def checked(folder: Path = FOLDER) -> dict[str, Path]:
    """File name -> path of each model file.

    Raises:
        MissingModels: where one is missing or is not the published one, or LiteRT is not installed.
    """
    if importlib.util.find_spec("ai_edge_litert") is None or not all((folder / name).exists() for name in MEMBERS):
        raise MissingModels(compose("hands are found by models that are not set up here: run `make hands` once"))
    for name, (_, digest) in MEMBERS.items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            raise MissingModels("{file} is not the published model: run `make hands` again", file=name)
    return {name: folder / name for name in MEMBERS}


def available(folder: Path = FOLDER) -> bool:
    """Tells whether hands can be found here."""
    try:
        checked(folder)
    except MissingModels:
        return False
    return True


def take_out(wheel: Path, folder: Path = FOLDER) -> None:
    """Copy the model files and their licence out of MediaPipe's package.

    Raises:
        MissingModels: where the package lacks one, or holds another version of it; nothing is written then.
    """
    _write(package_files.contents(wheel, MEMBERS), folder)


def set_up(folder: Path = FOLDER) -> None:
    """Download the package by pip, from the registry that pip is configured for, and take the models out.

    Raises:
        MissingModels: where the download fails.
    """
    _write(package_files.downloaded(PACKAGE, MEMBERS, platform=PLATFORM), folder)


def _write(files: Mapping[str, bytes], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
