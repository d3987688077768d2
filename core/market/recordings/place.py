"""A folder of this machine, a store's, or a URL that lists files, as a place of recordings."""

from __future__ import annotations

import io
import ipaddress
import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import unquote, urlsplit

from core.market.book import BookError
from core.market.recordings.layout import library_address
from core.market.recordings.stores import Store, StoredFile, is_store
from core.messages import compose

HOSTS_VARIABLE: Final = "OBSERVATORY_RECORDING_HOSTS"
"""Comma-separated names of hosts, besides this machine, whose recordings may be listed and fetched; and of stores, "s3://bucket"."""
MAX_FILES: Final = 50_000
TIMEOUT_S: Final = 20
LISTING_S: Final = 6.0
"""Seconds that listing a folder of this machine may take; 50,000 files take one."""


class RecordingPlace:
    """A folder, a store's address, or an http(s) address of a page whose links are files and folders.

    Attributes:
        store: where it is a store's. remote: whether files have to be fetched.

    Raises:
        BookError: for a host or a store that may not be asked.
    """

    def __init__(self, address: str) -> None:
        self.address = address.strip()
        self.store: Store | None = None
        self.remote = self.address.lower().startswith(("http://", "https://")) or is_store(self.address)
        if is_store(self.address):
            _check_store(self.address)
            self.store = Store(self.address)
            self.address = self.store.address
            self._files: Any = self.store.files_system
        elif self.remote:
            self.address = self.address.rstrip("/") + "/"
            _check_host(self.address)
            self._files = _http()

    def files(self) -> list[StoredFile]:
        """Every file below it that is not hidden.

        Raises:
            BookError: where it is not there, does not answer, or holds too many.
        """
        listed = self.store.files() if self.store else self._remote_files() if self.remote else self._local_files()
        found = list(itertools.islice(listed, MAX_FILES + 1))  # no more are looked at: a whole disk takes minutes
        if len(found) > MAX_FILES:
            raise BookError(
                compose("{place} holds more than {most} files: choose a folder below it", place=self.address, most=MAX_FILES)
            )
        return found

    def open(self, file: StoredFile) -> IO[bytes]:
        """The file, for reading at any position; whole in memory where a server cannot send parts of it."""
        if not self.remote:
            return Path(file.address).open("rb")
        if self.store is not None:
            return self._files.open(file.address, "rb")
        sends_parts = bool(self._files.info(file.address).get("partial"))
        return self._files.open(file.address) if sends_parts else io.BytesIO(self._files.cat_file(file.address))

    def fetch(self, file: StoredFile, path: Path) -> None:
        """Copy a file here."""
        self._files.get_file(file.address, str(path))

    def _local_files(self) -> Iterator[StoredFile]:
        root = Path(self.address)
        try:
            there = root.is_dir()
        except (OSError, ValueError):  # too long a name, or one with a character that no name has
            there = False
        if not there:
            raise BookError(compose("{place} is no folder: give a folder of recordings, or a URL", place=self.address))
        began = time.monotonic()
        for parent, folders, names in os.walk(root):
            if time.monotonic() - began > LISTING_S:
                raise BookError(compose("{place} takes too long to list: choose a folder below it", place=self.address))
            folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
            below = Path(parent).relative_to(root).as_posix().removeprefix(".")
            for name in names:
                if not name.startswith("."):
                    address = os.path.join(parent, name)  # a path object for each of 50,000 takes seconds
                    try:
                        about = os.stat(address)
                    except OSError:  # a link to nowhere, or a file that has just been deleted
                        continue
                    relative = f"{below}/{name}" if below else name
                    yield StoredFile(relative=relative, address=address, size=about.st_size, stamp=about.st_mtime)

    def _remote_files(self) -> Iterator[StoredFile]:
        try:
            self._files.invalidate_cache()
            self._files.ls(self.address)  # says what is wrong, which `find` does not
            for address in self._files.find(self.address, maxdepth=6):
                relative = unquote(address.removeprefix(self.address))
                if address.startswith(self.address) and relative and "/." not in f"/{relative}":
                    about = self._files.info(address)
                    yield StoredFile(
                        relative=relative,
                        address=address,
                        size=int(about.get("size") or 0),
                        stamp=float(hash(about.get("ETag") or "")),
                    )
        except Exception as error:  # whatever the web server or the network does
            why = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise BookError(compose("{place} does not list its files: {reason}", place=self.address, reason=why)) from error


def _check_store(address: str) -> None:
    bucket = "/".join(address.split("/")[:3])
    library = library_address() or ""
    allowed = {name.strip().rstrip("/") for name in os.environ.get(HOSTS_VARIABLE, "").split(",")} - {""}
    if not (address.rstrip("/") == library or address.startswith(f"{library}/") or bucket in allowed) or "/../" in f"{address}/":
        raise BookError(
            compose("{host} may not be asked: name the hosts of recordings in {variable}", host=bucket, variable=HOSTS_VARIABLE)
        )


def _http() -> Any:
    import fsspec

    return fsspec.filesystem("https", client_kwargs={"trust_env": True}, timeout=TIMEOUT_S, skip_instance_cache=True)


def _check_host(address: str) -> None:
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:  # brackets with no address of version 6 between them
        host = address[:80]
    allowed = {name.strip() for name in os.environ.get(HOSTS_VARIABLE, "").split(",")} - {""}
    try:
        here = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        here = False
    if not (here or host in allowed):
        raise BookError(
            compose("{host} may not be asked: name the hosts of recordings in {variable}", host=host, variable=HOSTS_VARIABLE)
        )
