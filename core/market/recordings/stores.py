"""Object stores and other places of files that an address names: `s3://bucket/folder`, by pyarrow, and whatever fsspec knows.

An object of S3 is there whole or not at all; elsewhere a file is written under a hidden name first and then moved.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from core.market.book import BookError
from core.messages import compose

CACHE_VARIABLE: Final = "OBSERVATORY_CACHE"
"""Environment variable: where copies of recordings of a store lie, and recordings that wait to be sent to one."""
ENDPOINT_VARIABLES: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
"""Environment variables: address of a store that speaks S3 and is not Amazon's."""
CONNECT_S: Final = 5.0
REQUEST_S: Final = 30.0
ATTEMPTS: Final = 2

_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*://.+", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """A file of a place: its path below it, its whole address, its bytes, and a number that changes with its content."""

    relative: str
    address: str
    size: int
    stamp: float


def is_address(text: str) -> bool:
    """Tells whether a text is a URL of any kind and no path."""
    return bool(_ADDRESS.fullmatch(text.strip()))


def is_store(text: str) -> bool:
    """Tells whether a text is the URL of a store, where files can be written too: not a web page's."""
    return is_address(text) and not text.strip().lower().startswith(("http://", "https://"))


class Store:
    """Files below an address.

    Args:
        address: `s3://bucket/folder`, or another of fsspec's.

    Raises:
        BookError: for an address of no kind that is known, or whose package is not installed.
    """

    def __init__(self, address: str) -> None:
        self.address = address.strip().rstrip("/")
        self._whole = self.address.lower().startswith("s3://")
        try:
            self.files_system, self.root = _opened(self.address)
        except (ValueError, ImportError, OSError) as error:
            raise BookError(compose("{place} cannot be used: {reason}", place=self.address, reason=_line(error))) from error
        self.root = self.root.rstrip("/")

    def files(self) -> Iterator[StoredFile]:
        """Every file that is not hidden, in order of their names.

        Raises:
            BookError: where the store does not answer, or there is no such folder.
        """
        try:
            self.files_system.invalidate_cache()
            found: dict[str, Any] = self.files_system.find(self.root, detail=True)
            if not found and not self.files_system.exists(self.root):
                raise FileNotFoundError(compose("it is not there"))
        except Exception as error:  # whatever the store or the network does
            raise BookError(
                compose("{place} does not list its files: {reason}", place=self.address, reason=_line(error))
            ) from error
        for path, about in sorted(found.items()):
            relative = path.removeprefix(self.root).lstrip("/") or path.rpartition("/")[2]
            if about.get("type") == "file" and "/." not in f"/{relative}":
                changed = str(about.get("mtime") or about.get("LastModified") or about.get("created") or "")
                stamp = float(int(hashlib.sha256(changed.encode()).hexdigest()[:12], 16))
                yield StoredFile(relative=relative, address=path, size=int(about.get("size") or 0), stamp=stamp)

    def size_of(self, relative: str) -> int | None:
        """Bytes of a file; None where it is not there.

        Raises:
            OSError: where the store does not answer.
        """
        try:
            return int(self.files_system.info(self._path(relative))["size"])
        except FileNotFoundError:
            return None

    def put(self, relative: str, data: bytes) -> None:
        """Write a file, whole.

        Raises:
            OSError: where the store does not take it; nothing is visible there then.
        """
        target = self._path(relative)
        written = target if self._whole else str(Path(target).with_name(f".{Path(target).name}.part"))
        if not self._whole:
            self.files_system.makedirs(target.rpartition("/")[0], exist_ok=True)
        with self.files_system.open(written, "wb") as file:
            file.write(data)
        if written != target:
            self.files_system.mv(written, target)

    def _path(self, relative: str) -> str:
        return f"{self.root}/{relative}"


def below_cache(kind: str, address: str) -> Path:
    """This machine's folder for an address: of `kind` "copies" or "waiting"."""
    root = Path(os.environ.get(CACHE_VARIABLE, "").strip() or Path.home() / ".cache" / "attention-observatory")
    name = re.sub(r"\W+", "-", address.strip().rstrip("/")).strip("-")[-60:]
    return root / kind / f"{name}-{hashlib.sha256(address.strip().rstrip('/').encode()).hexdigest()[:12]}"


def copied(address: str, *, progress: Callable[[int, int], None] | None = None) -> Path:
    """This machine's copy of a store's recordings, brought up to date: what is there with the same size and age is not fetched.

    Args:
        address: of a folder or a file. progress: called with (files done, files in all).

    Returns:
        The folder; the file where the address is one's.

    Raises:
        BookError: where the store does not answer. OSError: where the disk refuses.
    """
    store, folder = Store(address), below_cache("copies", address)
    wanted = [file for file in store.files() if file.relative.lower().endswith((".parquet", ".csv"))]
    for done, file in enumerate(wanted, 1):
        path = folder / file.relative
        if folder.resolve() not in path.resolve().parents:
            raise BookError(compose("{name} is no name of a recording", name=file.relative))
        mark = path.with_name(f".{path.name}.stamp")
        about = f"{file.size} {file.stamp}"
        if not (path.is_file() and mark.is_file() and mark.read_text() == about):
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f".{path.name}.part")
            try:
                store.files_system.get_file(file.address, str(part))
            except Exception as error:
                part.unlink(missing_ok=True)
                raise BookError(
                    compose("{name} could not be fetched: {reason}", name=file.relative, reason=_line(error))
                ) from error
            part.replace(path)
            mark.write_text(about)
        if progress:
            progress(done, len(wanted))
    there = {folder / file.relative for file in wanted}
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.startswith(".") and path not in there:
            path.unlink()
    return folder / wanted[0].relative if len(wanted) == 1 and wanted[0].address == store.root else folder


def _opened(address: str) -> tuple[Any, str]:
    """The file system of an address, as fsspec has it, and the path in it."""
    if address.lower().startswith("s3://"):
        from fsspec.implementations.arrow import ArrowFSWrapper
        from pyarrow import fs

        endpoint = next((found for name in ENDPOINT_VARIABLES if (found := os.environ.get(name, "").strip())), None)
        options: dict[str, Any] = {"endpoint_override": endpoint} if endpoint else {}
        if region := os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or (endpoint and "us-east-1"):
            options["region"] = region
        retries = fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS)
        system = fs.S3FileSystem(connect_timeout=CONNECT_S, request_timeout=REQUEST_S, retry_strategy=retries, **options)
        return ArrowFSWrapper(system), address[5:]
    from fsspec.core import url_to_fs

    system, path = url_to_fs(address)
    return system, path


def _line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
