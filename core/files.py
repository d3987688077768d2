"""Files that are whole under their names, however the process that writes them ends."""

import fcntl
import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO


def lock(file: IO[bytes]) -> bool:
    """Take the file's lock until it is closed; returns False where another process holds it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


Written = tuple[tuple[Path, int], ...]


def written(paths: Iterable[str | Path]) -> Written:
    """Files, each with its time of writing (0 where there is none): a name may be that of another file by now."""
    return tuple((path, path.stat().st_mtime_ns if path.exists() else 0) for path in map(Path, paths))


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file by a function that fills it; on return it is on disk under its own name.

    The part is locked meanwhile, so that another process does not take it for a leftover.

    Raises:
        OSError: where the disk refuses; nothing is left behind then.
    """
    # another at each call: a second press of a button begins the same file while the first goes on
    part = path.with_name(f".{secrets.token_hex(4)}.{path.name}.part")
    try:
        with part.open("wb") as file:
            lock(file)
            write(file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # makes the rename durable
    finally:
        os.close(folder)


def write_bytes(path: Path, data: bytes) -> None:
    """Bytes as a whole file; see `write_whole`."""
    write_whole(path, lambda file: file.write(data))


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write files of one folder that belong together: where one cannot be, each of them stays what it was.

    Raises:
        OSError: where the disk refuses.
    """
    before = {path: path.read_bytes() if path.exists() else None for path in contents}
    try:
        for path, data in contents.items():
            write_bytes(path, data)
    except BaseException:
        for path, earlier in before.items():
            if earlier is None:
                path.unlink(missing_ok=True)
            elif path.read_bytes() != earlier:
                write_bytes(path, earlier)
        raise
