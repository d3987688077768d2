"""Folders of recordings: the library's, and the files below any folder of this machine."""

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.market.book import BookError
from core.messages import first_line

FOLDER_VARIABLE: Final = "OBSERVATORY_RECORDINGS"
"""Environment variable: the folder of the library, where the app records and converts to."""
DEFAULT_FOLDER: Final = Path("recordings")
MAX_FILES: Final = 50_000
LISTING_S: Final = 6.0
"""Seconds that listing a folder may take; 50,000 files take one."""


@dataclass(frozen=True, kw_only=True)
class RecordingFile:
    """A file, by its path below the folder that was listed; its bytes and time of change tell whether it is still the same."""

    relative: str
    path: Path
    size: int
    changed_ns: int


def library_folder(option: str = "") -> Path:
    """The library's folder: by a command's option, else by the environment.

    Raises:
        BookError: where a URL is named.
    """
    named = option.strip() or os.environ.get(FOLDER_VARIABLE, "").strip()
    if "://" in named:
        variable = "--folder" if option.strip() else FOLDER_VARIABLE
        raise BookError("{variable} is {place}, and the library is a folder of this machine", variable=variable, place=named)
    return Path(named or DEFAULT_FOLDER)


def files_below(folder: Path) -> list[RecordingFile]:
    """Every file below a folder that is not hidden; links to folders are not followed.

    Raises:
        BookError: where it is not there, cannot be read, or holds too many.
    """
    if not os.path.isdir(folder):  # unlike `Path.is_dir`, also where a name is too long
        raise BookError("{place} is no folder: give a folder of recordings", place=folder)
    listed: list[RecordingFile] = []
    began = time.monotonic()
    try:
        os.scandir(folder).close()  # says what is wrong, which a walk does not
        for root, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if not name.startswith(".")]
            listed += files_at(folder, *(Path(root) / name for name in names if not name.startswith(".")))
            if len(listed) > MAX_FILES:  # no more are looked at: a whole disk takes minutes
                raise BookError("{place} holds more than {most} files: choose a folder below it", place=folder, most=MAX_FILES)
            if time.monotonic() - began > LISTING_S:
                raise BookError("{place} takes too long to list: choose a folder below it", place=folder)
    except OSError as error:
        raise BookError("{place} does not list its files: {reason}", place=folder, reason=first_line(error)) from error
    return listed


def files_at(folder: Path, *paths: Path) -> list[RecordingFile]:
    """Those of these paths below a folder that are files now."""
    there: list[RecordingFile] = []
    for path in paths:
        with suppress(FileNotFoundError):  # a link to nowhere, or deleted between the two looks
            if path.is_file():
                about, relative = path.stat(), path.relative_to(folder).as_posix()
                there.append(RecordingFile(relative=relative, path=path, size=about.st_size, changed_ns=about.st_mtime_ns))
    return there
