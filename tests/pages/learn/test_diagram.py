"""Block diagrams: their links, words and room."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from core.lecture.course import LESSONS
from pages.learn.diagram import FOLDER, WORDS, drawing
from pages.shared.language import speaking
from pages.shared.navigation import ROOT
from tests.pages.learn.drawn_part import pages
from tests.pages.open_page import open_page

ATTENTION = ROOT / "pages" / "learn" / "attention_steps.py"
NAMES = {"BLEU", "FFN", "GELU", "LayerNorm", "ROUGE-L", "WER", "dropout", "pos", "sigmoid", "sin", "cos", "softmax", "tanh"}
FILES = sorted(file.stem for file in FOLDER.glob("*.svg"))
EVERY = pytest.mark.parametrize("name", FILES)
LETTER_PX = 6.6 / 12
"""Width of a letter, about, by the size of its text."""


def drawn(name: str, language: str = "en") -> ElementTree.Element:
    with speaking(language):
        return ElementTree.fromstring(f"<both>{drawing(name, language)}</both>")


def written(text: ElementTree.Element) -> str:
    """A label, its subscripts behind `_`."""
    return (text.text or "") + "".join(f"_{{{one.text}}}" if one.get("dy") == "3" else one.text or "" for one in text)


def files_of(url: str) -> Iterator[str]:
    """Names of a lesson's diagrams."""
    name = url.replace("-", "_")
    return (one for one in FILES if one == name or one.startswith(f"{name}_"))


def labels(url: str) -> Iterator[str]:
    """Labels of a lesson's diagrams."""
    for name in files_of(url):
        yield from (written(text) for text in drawn(name).iter("text"))


def test_every_diagram_is_of_a_lesson() -> None:
    urls = dict.fromkeys(lesson.url for lesson in LESSONS)
    assert sorted(name for url in urls for name in files_of(url)) == FILES


@EVERY
def test_a_block_opens_a_part_that_the_page_has(name: str) -> None:
    opened = {link.get("data-part", "") for link in drawn(name).iter("a")}
    page = next(one for one in pages().values() if name.startswith(one.name))
    assert opened and opened <= {part.code for part in page.parts}


@EVERY
def test_a_word_is_translated_and_fits_its_block_in_both_languages(name: str) -> None:
    for text in drawn(name).iter("text"):
        said = "".join(text.itertext())
        assert said in WORDS.get(name, ()) or set(re.findall(r"[A-Za-z][A-Za-z-]{2,}", written(text))) <= NAMES, said
    for language in ("en", "es"):
        for group in drawn(name, language).iter():
            if group.find("rect") is not None:
                room = float(group.find("rect").get("width", "0"))  # type: ignore[union-attr]
                for text in group.iter("text"):
                    said, size = "".join(text.itertext()), float(text.get("font-size", "0"))
                    assert size >= 12 and len(said) * LETTER_PX * size <= room + 12, (language, said)


def test_the_diagram_speaks_the_readers_language_links_to_parts_and_frames_its_own() -> None:
    app = open_page(ATTENTION, part="sum", lang="es", t="0.5")
    figure = next(one.proto.bytes.decode() for one in app.get("bidi_component") if b"diagram-wide" in one.proto.bytes)
    links = dict(re.findall(r'data-part="(\w+)" data-at="\d" href="([^"]+)"', figure))
    assert set(links) == {"project", "scores", "softmax", "sum", "heads"}
    assert links["scores"] == "?part=scores&amp;lang=es&amp;t=0.5"
    assert set(re.findall(r'data-part="(\w+)"[^>]+aria-current', figure)) == {"sum"} and "Cada bloque abre su parte." in figure
