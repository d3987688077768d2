"""Search over pages and lessons, equations and terms, in the header and by the key `/`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Final

import streamlit as st
from rapidfuzz import fuzz

from core.lecture.equations import equations, without_accents
from core.lecture.glossary import terms
from pages.shared.language import N_, _, current, regional
from pages.shared.navigation import ENTRIES

WORDS: Final[dict[str, str]] = {
    "live": N_("exchange Binance Kraken Bybit OKX Coinbase KuCoin Bitcoin crypto TLOB prediction replay alert"),
    "wall": N_("exchange Binance Kraken several markets"),
    "attention": N_("order book heads layers upload"),
    "recordings": N_("export import convert CSV Parquet download record files"),
    "classify": N_("clothes shoe shirt dress trousers photo webcam camera upload ViT Fashion-MNIST"),
    "garment-training": N_("ViT training curve confusion"),
    "own-classes": N_("webcam camera train few pictures"),
    "recognise": N_("hands video film webcam camera sign language IIGA upload"),
    "words": N_("sentence MiniLM tokens BERT"),
    "ctc": N_("alignment speech"),
    "metrics": N_("WER BLEU ROUGE edit distance"),
    "learn": N_("lessons class teacher students slides"),
    "system": N_("GPU processor memory speed benchmark version"),
    "cost": N_("GPU FLOPs MACs memory speed"),
}
"""Words that lead to a page besides its title, by its url: a reader's own, and names of what it handles."""
MOST: Final = 8
MAX_TYPED: Final = 80
"""Characters that are searched for: each word is compared with all there are."""
NEAR: Final = 84
"""Likeness of two words, of 100, from which one is taken for a slip of the other."""
SHORT: Final = 4
"""Letters up to which a word is taken as it is typed."""


@dataclass(frozen=True, kw_only=True)
class Hit:
    """Something to be found: a page with the parameters that open it, or the meaning of a term where there is no page.

    Attributes:
        kind: page, lesson, equation or term, for the reader. words: that lead to it besides its name.
    """

    name: str
    kind: str
    icon: str
    page: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    meaning: str = ""
    words: str = ""

    @cached_property
    def weighted_words(self) -> list[tuple[str, float]]:
        """Words that lead to it, those of its name first and heaviest."""
        texts = ((self.name, 1.0), (self.words, 0.9), (self.meaning, 0.6))
        return [(word, weight) for text, weight in texts for word in _words(text)]


@cache
def _hits(language: str, region: str) -> tuple[Hit, ...]:
    """Everything to be found, in the reader's language; `region` has the numbers of titles."""
    files = {entry.url: entry.file for entry in ENTRIES}
    pages = [
        Hit(
            name=_(entry.title),
            kind=_("Lesson") if entry.under == "learn" else _("Page"),
            icon=entry.icon,
            page=entry.file,
            words=f"{entry.title} {WORDS.get(entry.url, '')} {_(WORDS[entry.url]) if entry.url in WORDS else ''}",
        )
        for entry in ENTRIES
    ]
    formulas = [
        Hit(name=one.title[language], kind=_("Equation"), icon=":material/function:", page=files[one.page], query=one.query)
        for one in equations()
    ]
    glossary = [
        Hit(
            name=" · ".join(dict.fromkeys((term.names[language], *term.names.values()))),
            kind=_("Term"),
            icon=":material/book_2:",
            meaning=term.meanings[language],
        )
        for term in terms()
    ]
    return (*pages, *formulas, *glossary)


def matching_hits(text: str, hits: tuple[Hit, ...]) -> list[Hit]:
    """Entries that fit each word of a text, the best first and of equals the shorter name, at most `MOST`."""
    asked = _words(text)
    scored = [(score, hit) for hit in hits if asked and (score := _fit(asked, hit))]
    return [hit for _score, hit in sorted(scored, key=lambda one: (-one[0], len(one[1].name)))][:MOST]


def _fit(asked: list[str], hit: Hit) -> float:
    """Mean over the words asked for of the best word of the hit; 0 where one fits none."""
    best = [max(weight * _likeness(word, other) for other, weight in hit.weighted_words) for word in asked]
    return sum(best) / len(best) if all(best) else 0


def _likeness(typed: str, word: str) -> float:
    """100 where a word begins as it was typed, less the more follows; else how like the two are, from `NEAR` on."""
    if word.startswith(typed):
        return 100 - min(9, len(word) - len(typed))
    return fuzz.ratio(typed, word, score_cutoff=NEAR) if len(typed) > SHORT else 0


def _words(text: str) -> list[str]:
    """Words in lower case without accents."""
    return re.findall(r"\w+", without_accents(text))


@st.fragment
def button() -> None:
    """The button that opens the search."""
    if st.button(_("Search"), icon=":material/search:", key="search", help=_("Key: /"), type="tertiary"):
        st.dialog(_("Search"))(_dialog)()


def _dialog() -> None:
    text = st.text_input(
        _("Pages, lessons, equations and terms"),
        key="search_for",
        max_chars=MAX_TYPED,
        placeholder=_("softmax, spread, Recordings …"),
        live=True,
    )
    hits = matching_hits(text or "", _hits(current(), regional()))
    if text and not hits:
        st.caption(_("Nothing is called so here: try another word, or the menu."))
    language = {"lang": st.query_params["lang"]} if "lang" in st.query_params else {}
    for hit in hits:
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", gap="small"):
            if hit.page:
                st.page_link(hit.page, label=hit.name, icon=hit.icon, query_params={**hit.query, **language})
            else:
                st.markdown(f"{hit.icon} **{hit.name}**: {hit.meaning}")
            st.caption(hit.kind, width="content")
