"""The app's own prose, English and Spanish, as paragraphs: the texts of its pages, its documents and its catalogue of sentences.

All of it is the project's and under its licence (MIT). Code, tables and markup are left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from core.checkpoints import describe_files

ROOT: Final = Path(__file__).resolve().parents[2]
CATALOGUE: Final = "assets/locale/es/LC_MESSAGES/messages.po"
PROSE: Final = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/*.md",
    "assets/text/en/*.md",
    "assets/text/es/*.md",
    CATALOGUE,
)
"""Paths of the prose, from the project's root."""
SHORTEST: Final = 20
"""A paragraph of fewer characters is a label, and is left out."""
PARTS: Final = {"train": 0.8, "validation": 0.1, "test": 0.1}
"""Shares of the paragraphs."""

_CODE = re.compile(r"```.*?```", re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_TAG = re.compile(r"<[^<>\n]*>")
_ENTRY = re.compile(r'^(msgid|msgid_plural|msgstr(?:\[\d+\])?) ((?:"(?:[^"\\]|\\.)*"\n?)+)', re.MULTILINE)
_PLACE = re.compile(r"\{[^{}]*\}")


def files(root: Path = ROOT) -> list[Path]:
    """The files of `PROSE` that are there, in order.

    Raises:
        ValueError: for none.
    """
    found = [path for pattern in PROSE for path in sorted(root.glob(pattern))]
    if not found:
        raise ValueError("the app's prose is not here: train from a checkout, where README.md and docs/ lie beside core/")
    return found


def paragraphs(paths: Sequence[Path]) -> list[str]:
    """Every paragraph once, in the order of the files: one line each, without markup."""
    found: dict[str, None] = {}
    for path in paths:
        text = path.read_text(encoding="utf-8")
        for block in _sentences_of_catalogue(text) if path.suffix == ".po" else _blocks_of_markdown(text):
            plain = " ".join(block.split())
            if len(plain) >= SHORTEST:
                found[plain] = None
    return list(found)


def _blocks_of_markdown(text: str) -> Iterator[str]:
    """Paragraphs and points of lists; no code, no tables, no headings."""
    block: list[str] = []
    for line in [*_CODE.sub("\n", text).splitlines(), ""]:
        bare = line.strip()
        starts = bare.startswith(("- ", "* ")) or re.match(r"\d+\. ", bare)
        if not bare or starts or bare.startswith(("|", "#", "    ")) or line.startswith("    "):
            yield _without_markup(" ".join(block))
            block = [bare[2:].strip() if bare.startswith(("- ", "* ")) else bare] if starts else []
        else:
            block.append(bare)


def _without_markup(text: str) -> str:
    return re.sub(r"[*`]", "", _TAG.sub("", _LINK.sub(r"\1", text)))


def _sentences_of_catalogue(text: str) -> Iterator[str]:
    """Messages and their translations; a place that is filled in while the app runs becomes three dots."""
    for _, quoted in _ENTRY.findall(text):
        joined = "".join(ast.literal_eval(line) for line in quoted.splitlines())
        yield _without_markup(_PLACE.sub("…", joined))


def split(texts: Sequence[str], *, seed: int) -> dict[str, list[str]]:
    """The paragraphs by part ("train", "validation", "test"), drawn by the seed in the shares of `PARTS`."""
    order = np.random.default_rng([seed, 6]).permutation(len(texts))
    ends = np.round(np.cumsum(list(PARTS.values())) * len(texts)).astype(int)
    return {
        part: [texts[int(index)] for index in order[first:end]]
        for part, first, end in zip(PARTS, [0, *ends[:-1]], ends, strict=True)
    }


def describe(paths: Sequence[Path], root: Path = ROOT) -> list[dict[str, str]]:
    """Files, from the project's root, and their digests, for a card."""
    return [
        {"file": str(path.relative_to(root)), "sha256": one["sha256"]}
        for path, one in zip(paths, describe_files(paths), strict=True)
    ]
