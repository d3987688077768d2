"""Hatchling's hook for the wheel: `core` and `pages` become `attention_observatory.core` and `.pages`.

In the repository both lie at the top, where Streamlit and `python -m core` look for them. An installation must not claim names so
common: the wheel has them inside the package, and its modules import each other by the longer name.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "attention_observatory"
INSIDE = ("core", "pages", "streamlit_app.py", PACKAGE)
"""Folders and files that hold modules, from the repository's top."""
_IMPORTS = (
    (re.compile(r"^(\s*)from (core|pages)(?=[.\s])", re.MULTILINE), rf"\1from {PACKAGE}.\2"),
    (re.compile(r"^(\s*)import (core|pages)$", re.MULTILINE), rf"\1from {PACKAGE} import \2"),
    (re.compile(r"(?<=[\"'])(core|pages)\.(?=[a-z_{])"), rf"{PACKAGE}.\1."),  # modules that are named in a string
)


def inside_the_package(source: str) -> str:
    """A module's source with its imports of `core` and `pages`, and the modules it names in strings, as the wheel has them."""
    for pattern, replacement in _IMPORTS:
        source = pattern.sub(replacement, source)
    return source


class InsideThePackage(BuildHookInterface[Any]):
    """Puts rewritten modules into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write them to a folder that lasts as long as the hook; an editable installation takes the repository as it is."""
        if version == "editable":
            return
        self._made = TemporaryDirectory()
        root, made = Path(self.root), Path(self._made.name)
        for name in INSIDE:
            for file in [root / name] if (root / name).is_file() else sorted((root / name).rglob("*.py")):
                place = file.relative_to(root)
                written = made / place
                written.parent.mkdir(parents=True, exist_ok=True)
                written.write_text(inside_the_package(file.read_text(encoding="utf-8")), encoding="utf-8")
                inside = place if place.parts[0] == PACKAGE else Path(PACKAGE, place)
                build_data["force_include"][str(written)] = inside.as_posix()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove that folder."""
        if version != "editable":
            self._made.cleanup()
