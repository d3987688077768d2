"""Builds the documentation site from docs/: `python -m scripts.docs_site [FOLDER]`, or `make docs`.

The README is its first page. A link that leads nowhere ends the build (`strict`). Fonts are the reader's own: the site asks no
other server for anything.
"""

import argparse
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

from mkdocs.commands.build import build
from mkdocs.config import load_config

import attention_observatory

ROOT: Final = Path(__file__).resolve().parents[1]
BESIDE: Final = ("CONTRIBUTING.md", "CHANGELOG.md", "THIRD_PARTY.md", "SECURITY.md", "LICENSE")
"""Files of the root that documents link to."""
PICTURES: Final = "https://raw.githubusercontent.com/OWNER/attention-observatory/main/"
"""Address at which the package index finds the README's pictures; the site has them."""
NAV: Final[list[dict[str, Any]]] = [
    {"Attention Observatory": "index.md"},
    {"Use": ["cli.md", "reference.md", "recordings.md", "scoring_and_training.md", "evaluate_json.md"]},
    {"Results": ["results.md", "value.md"]},
    {"Lecture": ["glossary.md", "sources.md"]},
    {"Run it for others": ["deploy.md", "performance.md", "faults.md"]},
    {"Work on it": ["architecture.md", "decisions.md", "CONTRIBUTING.md", "CHANGELOG.md", "THIRD_PARTY.md", "SECURITY.md"]},
    {"All documents": "documents.md"},
]


def pages(folder: Path) -> None:
    """Write the site's pages into a folder: docs/, the README as its index, and the reference."""
    shutil.copytree(ROOT / "docs", folder, dirs_exist_ok=True)
    (folder / "README.md").rename(folder / "documents.md")
    shutil.copytree(ROOT / "assets" / "screenshots", folder / "assets" / "screenshots")
    for name in BESIDE:
        shutil.copy(ROOT / name, folder)
    shutil.copy(ROOT / "assets" / "glossary.md", folder)
    shutil.copy(ROOT / "README.md", folder / "index.md")
    for file in folder.rglob("*.md"):
        text = file.read_text(encoding="utf-8")
        file.write_text(_linked(text, deeper=file.parent != folder), encoding="utf-8")
    (folder / "reference.md").write_text(reference_page(), encoding="utf-8")


def reference_page() -> str:
    """The public names of the library, each described where it is defined."""
    parts = ["# Python reference", attention_observatory.__doc__ or ""]
    public = {name: getattr(attention_observatory, name) for name in attention_observatory.__all__}
    for name, found in sorted(public.items(), key=lambda one: isinstance(one[1], type)):  # functions first
        parts.append(f"::: {found.__module__}.{found.__qualname__}\n    options:\n      heading: {name}\n      toc_label: {name}")
    return "\n\n".join(parts) + "\n"


def _linked(text: str, *, deeper: bool) -> str:
    """Links as they are within the site: `docs/` and the root are one folder, and the list of documents has another name."""
    text = re.sub(r"\]\((?:\.\./)?(?:docs/)?README\.md", "](documents.md", text)
    text = (
        text.replace("](docs/", "](")
        .replace("](../assets/glossary.md", "](glossary.md")
        .replace("](assets/glossary.md", "](glossary.md")
        .replace(f"]({PICTURES}", "](")
    )
    return text if deeper else text.replace("](../", "](")


def make(target: Path) -> None:
    """Build the site into a folder.

    Raises:
        SystemExit: for a link that leads nowhere.
    """
    with tempfile.TemporaryDirectory() as source:
        pages(Path(source))
        config = load_config(
            config_file=str(ROOT / "mkdocs.yml"), docs_dir=source, site_dir=str(target.resolve()), nav=NAV, strict=True
        )
        build(config)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs-site")
    make(parser.parse_args().folder)


if __name__ == "__main__":
    main()
