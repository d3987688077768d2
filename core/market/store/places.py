"""Places of recordings: a folder, a store such as `s3://bucket/folder`, a web page whose links are files.

fsspec knows them all; S3 is pyarrow's.
"""

from __future__ import annotations

import hashlib
import io
import ipaddress
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import unquote, urlsplit

from core.files import part_of
from core.market.book import BookError
from core.messages import compose, first_line

FOLDER_VARIABLE: Final = "OBSERVATORY_RECORDINGS"
"""Environment variable: the folder of the library, where the app records and converts to."""
CACHE_VARIABLE: Final = "OBSERVATORY_CACHE"
"""Environment variable: where copies of recordings of a store lie."""
HOSTS_VARIABLE: Final = "OBSERVATORY_RECORDING_HOSTS"
"""Comma-separated names of hosts, besides this machine, whose recordings may be listed and fetched; and of stores, "s3://bucket"."""
ENDPOINT_VARIABLES: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
"""Environment variables: address of a store that speaks S3 and is not Amazon's."""
DEFAULT_FOLDER: Final = Path("recordings")
MAX_FILES: Final = 50_000
WEB_DEPTH: Final = 6
"""Folders below one another that are looked into on a web page."""
TIMEOUT_S: Final = 20
CONNECT_S, REQUEST_S, ATTEMPTS = 5.0, 30.0, 2
"""Limits of a store that speaks S3."""
LISTING_S: Final = 6.0
"""Seconds that listing a folder of this machine may take; 50,000 files take one."""

_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*://.+", re.IGNORECASE)


def is_address(text: str) -> bool:
    """Tells whether a text is a URL of any kind and no path."""
    return bool(_ADDRESS.fullmatch(text.strip()))


def is_store(text: str) -> bool:
    """Tells whether a text is the URL of a store, and not a web page's."""
    return is_address(text) and not text.strip().lower().startswith(("http://", "https://"))


def library_folder(option: str = "") -> Path:
    """The library's folder: by a command's option, else by the environment.

    Raises:
        BookError: where a URL is named.
    """
    named = option.strip() or os.environ.get(FOLDER_VARIABLE, "").strip()
    if is_address(named):
        variable = "--folder" if option.strip() else FOLDER_VARIABLE
        raise BookError("{variable} is {place}, and the library is a folder of this machine", variable=variable, place=named)
    return Path(named or DEFAULT_FOLDER)


def copies_folder(address: str) -> Path:
    """This machine's folder for copies of what lies at an address."""
    root, address = os.environ.get(CACHE_VARIABLE, "").strip(), address.strip().rstrip("/")
    name = re.sub(r"\W+", "-", address).strip("-")[-60:]
    cache = Path(root) if root else Path.home() / ".cache" / "attention-observatory"
    return cache / "copies" / f"{name}-{hashlib.sha256(address.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """A file of a place: its path below it, its whole address, its bytes, and a text that changes with its content."""

    relative: str
    address: str
    size: int
    stamp: str
    place: RecordingPlace = field(compare=False, repr=False)

    def open(self) -> IO[bytes]:
        """The file, for reading at any position; whole in memory where a web server cannot send parts of it."""
        system = self.place.system
        if is_address(self.address) and not is_store(self.address) and not system.info(self.address).get("partial"):
            return io.BytesIO(system.cat_file(self.address))
        opened: IO[bytes] = system.open(self.address, "rb")
        return opened


class RecordingPlace:
    """Files below an address.

    Args:
        trusted: whether its address comes from who runs this program; else hosts and stores have to be allowed.

    Attributes:
        remote: whether files have to be fetched. system: its file system, as fsspec has it. root: its path there.

    Raises:
        BookError: for a host or a store that may not be asked, or of no kind that is known.
    """

    def __init__(self, address: str, *, trusted: bool = False) -> None:
        self.address = address.strip()
        self.remote, self._store = is_address(self.address), is_store(self.address)
        if self.remote:
            self.address = self.address.rstrip("/") + ("" if self._store else "/")
            if not trusted:
                _check(self.address)
        try:
            self.system, root = _opened(self.address)
        except (ValueError, ImportError, OSError) as error:
            raise BookError("{place} cannot be used: {reason}", place=self.address, reason=first_line(error)) from error
        self.root = root.rstrip("/") or "/"
        self._top = f"{self.root}/" if self.remote and not self._store else self.root

    def files(self) -> list[StoredFile]:
        """Every file below it that is not hidden.

        Raises:
            BookError: where it is not there, does not answer, or holds too many.
        """
        if not self.remote and not _is_folder(self.address):
            raise BookError("{place} is no folder: give a folder of recordings, or a URL", place=self.address)
        try:
            self.system.invalidate_cache()
            self.system.ls(self._top)  # says what is wrong, which a walk does not
            return self._walk()
        except BookError:
            raise
        except Exception as error:  # whatever the store, the web server or the network does
            why = compose("it is not there") if isinstance(error, FileNotFoundError) else first_line(error)
            raise BookError("{place} does not list its files: {reason}", place=self.address, reason=why) from error

    def at(self, *paths: Path) -> list[StoredFile]:
        """Those of these files of this machine that are there."""
        there: list[StoredFile] = []
        for path in paths:
            with suppress(FileNotFoundError):  # deleted between the two looks
                if path.is_file() and (file := self._file(self.system.info(str(path)))) is not None:
                    there.append(file)
        return there

    def _walk(self) -> list[StoredFile]:
        listed: list[StoredFile] = []
        began, depth = time.monotonic(), None if self._store or not self.remote else WEB_DEPTH
        for _, folders, files in self.system.walk(self._top, maxdepth=depth, detail=True):
            for name in [name for name in folders if name.startswith(".")]:
                del folders[name]
            listed += [file for about in files.values() if (file := self._file(about)) is not None]
            if len(listed) > MAX_FILES:  # no more are looked at: a whole disk takes minutes
                raise BookError(
                    "{place} holds more than {most} files: choose a folder below it", place=self.address, most=MAX_FILES
                )
            if not self.remote and time.monotonic() - began > LISTING_S:
                raise BookError("{place} takes too long to list: choose a folder below it", place=self.address)
        return listed

    def _file(self, about: Mapping[str, Any]) -> StoredFile | None:
        address = str(about["name"])
        relative = address.removeprefix(self.root).lstrip("/") or address.rpartition("/")[2]
        if not address.startswith(self.root) or "/." in f"/{relative}":
            return None
        if about.get("islink") or about.get("size") is None:
            try:
                about = self.system.info(address)
            except FileNotFoundError:  # a link to nowhere, or a file that has just been deleted
                return None
        if about["type"] != "file":
            return None
        stamp = next((str(about[key]) for key in ("mtime", "LastModified", "ETag", "created") if about.get(key)), "")
        relative = unquote(relative) if self.remote and not self._store else relative
        return StoredFile(relative=relative, address=address, size=int(about.get("size") or 0), stamp=stamp, place=self)

    def fetch(self, file: StoredFile, folder: Path) -> None:
        """Copy a file into a folder, below which it has the path that it has here.

        Raises:
            BookError: where it does not come, or would lie elsewhere. OSError: where the disk refuses.
        """
        path = folder / file.relative
        if folder.resolve() not in path.resolve().parents:
            raise BookError("{name} is no name of a recording", name=file.relative)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = part_of(path)
        try:
            self.system.get_file(file.address, str(part))
            part.replace(path)
        except Exception as error:
            part.unlink(missing_ok=True)
            raise BookError("{name} could not be fetched: {reason}", name=file.relative, reason=first_line(error)) from error


def copied(address: str, *, progress: Callable[[int, int], None] | None = None) -> Path:
    """This machine's copy of a store's recordings, brought up to date: what is there with the same size and age is not fetched.

    Args:
        address: of a folder or a file. progress: called with (files done, files in all).

    Returns:
        The folder; the file where the address is one's.

    Raises:
        BookError: where the store does not answer. OSError: where the disk refuses.
    """
    place, folder = RecordingPlace(address, trusted=True), copies_folder(address)
    wanted = [file for file in place.files() if file.relative.lower().endswith((".parquet", ".csv"))]
    for done, file in enumerate(wanted, 1):
        path, about = folder / file.relative, f"{file.size} {file.stamp}"
        mark = path.with_name(f".{path.name}.stamp")
        if not (path.is_file() and mark.is_file() and mark.read_text() == about):
            place.fetch(file, folder)
            mark.write_text(about)
        if progress:
            progress(done, len(wanted))
    there = {folder / file.relative for file in wanted}
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.startswith(".") and path not in there:
            path.unlink()
    return folder / wanted[0].relative if len(wanted) == 1 and wanted[0].address == place.root else folder


def _opened(address: str) -> tuple[Any, str]:
    """The file system of an address, as fsspec has it, and the path in it."""
    import fsspec

    if not is_address(address):
        return fsspec.filesystem("file"), os.path.abspath(address)
    if not is_store(address):
        options = {"client_kwargs": {"trust_env": True}, "timeout": TIMEOUT_S, "skip_instance_cache": True}
        return fsspec.filesystem("https", **options), address
    if not address.lower().startswith("s3://"):
        return fsspec.core.url_to_fs(address)
    from fsspec.implementations.arrow import ArrowFSWrapper
    from pyarrow import fs

    endpoint = next((value for name in ENDPOINT_VARIABLES if (value := os.environ.get(name, "").strip())), None)
    options = {"endpoint_override": endpoint} if endpoint else {}
    if region := os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or (endpoint and "us-east-1"):
        options["region"] = region
    retries = fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS)
    system = fs.S3FileSystem(connect_timeout=CONNECT_S, request_timeout=REQUEST_S, retry_strategy=retries, **options)
    return ArrowFSWrapper(system), address[5:]


def _is_folder(address: str) -> bool:
    try:
        return Path(address).is_dir()
    except (OSError, ValueError):  # too long a name, or one with a character that no name has
        return False


def _check(address: str) -> None:
    """Refuses what the environment does not allow.

    Raises:
        BookError: for a host or a store that may not be asked.
    """
    allowed = {name.strip().rstrip("/") for name in os.environ.get(HOSTS_VARIABLE, "").split(",")} - {""}
    if is_store(address):
        host = "/".join(address.split("/")[:3])
        fine = host in allowed and "/../" not in f"{address}/"
    else:
        try:
            host = urlsplit(address).hostname or ""
        except ValueError:  # brackets with no address of version 6 between them
            host = address[:80]
        try:
            fine = host == "localhost" or host in allowed or ipaddress.ip_address(host).is_loopback
        except ValueError:
            fine = False
    if not fine:
        raise BookError("{host} may not be asked: name the hosts of recordings in {variable}", host=host, variable=HOSTS_VARIABLE)
