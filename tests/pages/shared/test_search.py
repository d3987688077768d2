"""The search finds what readers call things, in both languages."""

import json

import pytest

from core.lecture.equations import LANGUAGES
from pages.shared import language as spoken
from pages.shared.navigation import ENTRIES
from pages.shared.search import MOST, WORDS, Hit, SearchIndex, index

URLS = {entry.file: entry.url for entry in ENTRIES}
ASKED = {
    "en": {
        "attention live": ["tlob"],
        "live": ["binance", "price prediction", "how accurate is it", "profit", "sharpe", "spread", "slippage"],
        "system": ["gpu"],
        "classify": ["shoe", "shoes", "garmnets", "fool"],
        "recognise classify": ["webcam"],
        "recordings": ["export", "recrodings", "upload my own data"],
        "backprop": ["backprop"],
        "live classify": ["heat map"],
        "transformer words": ["transformer"],
        "attention classify": ["explain"],
        "transformer": ["translate"],
        "equations": ["notebook"],
        "recognise": ["deaf"],
        "learn": ["quiz"],
        "words": ["my own sentence", "compare two sentences", "autocomplete"],
        "optimisers": ["learning rate"],
    },
    "es": {
        "live classify": ["mapa de calor"],
        "classify": ["zapatilla", "zapatillas rojas", "foto"],
        "attention classify": ["dónde mira"],
        "live": ["comprar o vender", "ganancia"],
        "recognise": ["lengua de senas", "sordos"],
        "transformer": ["traducir"],
        "words": ["oración", "tokenizador"],
        "system": ["tarjeta gráfica"],
        "optimisers": ["tasa de aprendizaje"],
        "equations": ["cuaderno"],
        "learn": ["clase"],
        "recordings": ["grabar un mercado"],
        "norms": ["normalizar"],
        "positions": ["codificación posicional"],
    },
}
"""Language -> pages of which one is meant -> what is typed."""


def test_what_readers_type_leads_to_the_page_that_they_mean() -> None:
    lost = {}
    for language, asked in ASKED.items():
        before = spoken._chosen.set(language)
        for meant, typed in ((meant, one) for meant, several in asked.items() for one in several):
            pages = [URLS[hit.page] for hit in index(language, language).find(typed)[:3]]
            if not {*meant.split()} & {*pages}:
                lost[typed] = pages
        spoken._chosen.reset(before)
    assert not lost


def test_every_question_leads_to_its_page_first() -> None:
    """Questions are typed as they stand; little words do not count."""
    lost = {}
    for one in json.loads(WORDS.read_text(encoding="utf-8"))["entries"]:
        for language in LANGUAGES:
            for question in one["asks"][language]:
                pages = [URLS[hit.page] for hit in index(language, language).find(question)[:3]]
                if one["page"] not in pages:
                    lost[question] = pages
    assert not lost


def test_hits_say_what_they_are_and_the_nearest_stands_first() -> None:
    searched = index("en", "en")
    assert {hit.kind for hit in searched.hits} == {"page", "part", "lesson", "equation", "term"}
    assert all(hit.page in URLS for hit in searched.hits)
    for nothing in ("", "  ", "zzzzzz", "the", '"*'):
        assert len(searched.find(nothing)) <= MOST
    assert not searched.find("zzzzzz") and not searched.find(" ")


@pytest.mark.parametrize("typed", ["café", "CAFE", "cafés"])
def test_accents_capitals_and_plurals_do_not_matter(typed: str) -> None:
    assert SearchIndex([Hit(name="Cafe", kind="page", icon="", page="")]).find(typed)


def test_every_page_is_found_in_both_languages_by_words_of_its_own() -> None:
    described = json.loads(WORDS.read_text(encoding="utf-8"))["entries"]
    assert {one["page"] for one in described} == {*URLS.values()}
    assert all(one[part][language] for one in described for part in ("words", "asks") for language in LANGUAGES)
