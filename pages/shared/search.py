"""Search over pages, their parts, lessons, equations and terms, in the header and by the key `/`.

SQLite's FTS5 finds and ranks (BM25); words that lead to a page in both languages, and questions that it answers, are data
(`assets/search.json`).
"""

import json
import re
import sqlite3
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import streamlit as st
from rapidfuzz import fuzz, process

from core.lecture.equations import LANGUAGES, equations, without_accents
from core.lecture.glossary import terms
from pages.shared.language import _, current, regional
from pages.shared.navigation import ENTRIES, ROOT, PageEntry

WORDS: Final = ROOT / "assets" / "search.json"
PROSE: Final = ROOT / "assets" / "text"
MOST: Final = 8
MAX_TYPED: Final = 80
"""Characters that are searched for."""
NEAR: Final = 84
"""Likeness of two words, of 100, from which one is taken for a slip of the other."""
SHORT: Final = 4
"""Letters up to which a word is taken as it is typed."""
ENDING: Final = 2
"""Letters of a word's ending, which languages change."""
WEIGHTS: Final = {"page": 1.0, "part": 1.0, "lesson": 1.0, "term": 0.4, "equation": 0.4}
"""Weight of each kind of entry: a reader means a page more often than one of its equations."""


@dataclass(frozen=True, kw_only=True)
class Hit:
    """Something to be found: a page, or one of its parts, with the parameters that open it.

    Attributes:
        kind: of `WEIGHTS`. page: its file. meaning: of a term, for the reader.
        words: that lead to it besides its name. prose: of its texts, which count least.
    """

    name: str
    kind: str
    icon: str
    page: str
    query: Mapping[str, str] = field(default_factory=dict)
    meaning: str = ""
    words: str = ""
    prose: str = ""


class SearchIndex:
    """Entries in SQLite's memory, for several threads.

    Args:
        hits: all that can be found. little_words: those that count in no question, unless there are no others.
    """

    def __init__(self, hits: Sequence[Hit], little_words: Collection[str] = ()) -> None:
        self.hits, self._little_words = tuple(hits), little_words
        self._lock = threading.Lock()
        self._base = sqlite3.connect(":memory:", check_same_thread=False)
        self._base.execute(
            "CREATE VIRTUAL TABLE hit USING fts5(name, words, prose, tokenize='porter unicode61 remove_diacritics 2')"
        )
        rows = ((at, one.name, f"{one.words} {one.meaning}", one.prose) for at, one in enumerate(self.hits))
        self._base.executemany("INSERT INTO hit (rowid, name, words, prose) VALUES (?, ?, ?, ?)", rows)
        self._known = sorted({word for one in self.hits for word in _words(f"{one.name} {one.words}")})

    def find(self, text: str) -> list[Hit]:
        """Entries that fit a text, the best first, at most `MOST`: those with all its words before those with some.

        An entry of just that name, little words apart, comes first; then what says the text as it stands ("sign in").
        """
        typed = _words(text[:MAX_TYPED])
        asked = [word for word in typed if word not in self._little_words] or typed
        with self._lock:
            terms_of = [term for word in dict.fromkeys(asked) if (term := self._term(word))]
            whole = [f'"{" ".join(typed)}"'] if len(typed) > 1 else []
            found: list[int] = []
            for query in (*whole, " AND ".join(terms_of), " OR ".join(terms_of)) if terms_of else ():
                rows = self._base.execute("SELECT rowid, bm25(hit, 10, 6, 1) FROM hit WHERE hit MATCH ?", (query,))
                scored = sorted((rank * WEIGHTS[self.hits[at].kind], len(self.hits[at].name), at) for at, rank in rows)
                found += [at for _rank, _length, at in scored if at not in found]
                if len(found) >= MOST:
                    break
        found.sort(key=lambda at: [one for one in _words(self.hits[at].name) if one not in self._little_words] != asked)
        return [self.hits[at] for at in found[:MOST]]

    def _term(self, word: str) -> str:
        """A word as FTS5 takes it: what begins so, or so but for the ending.

        Else the nearest word there is, or the longest that it begins or ends with ("tokenizador"); "" for none.
        """
        for begin in (word, word[:-ENDING]) if len(word) > SHORT + ENDING else (word,):
            term = f'("{begin}" OR "{begin}"*)'  # the whole word counts twice
            if self._base.execute("SELECT 1 FROM hit WHERE hit MATCH ? LIMIT 1", (term,)).fetchone():
                return term
        near = process.extractOne(word, self._known, scorer=fuzz.ratio, score_cutoff=NEAR) if len(word) > SHORT else None
        if near is not None:
            return f'"{near[0]}"'
        inside = (one for one in self._known if len(one) >= SHORT and (word.startswith(one) or word.endswith(one)))
        longest = max(inside, key=len, default="")
        return f'"{longest}"' if longest else ""


@cache
def index(language: str, region: str) -> SearchIndex:
    """The index in the reader's language; `region` has the numbers of titles."""
    entries = {entry.url: entry for entry in ENTRIES}
    data = json.loads(WORDS.read_text(encoding="utf-8"))
    whole = [_described(one, entries[one["page"]], language) for one in data["entries"]]
    formulas = [
        Hit(
            name=one.title[language],
            kind="equation",
            icon=":material/function:",
            page=entries[one.page].file,
            query=one.query,
            words=" ".join(one.title.values()),
        )
        for one in equations()
    ]
    glossary = [
        Hit(
            name=" · ".join(dict.fromkeys((term.names[language], *term.names.values()))),
            kind="term",
            icon=":material/book_2:",
            page=entries[term.page].file,
            meaning=term.meanings[language],
        )
        for term in terms()
    ]
    return SearchIndex([*whole, *formulas, *glossary], _words(" ".join(data["little_words"].values())))


def _described(one: Mapping[str, Any], entry: PageEntry, language: str) -> Hit:
    """An entry of `assets/search.json`: a page, or a part of it that has a name of its own."""
    part = one.get("name")
    asked = [" ".join((one["words"][code], *one["asks"][code])) for code in LANGUAGES]
    titles = part.values() if part else (entry.title, _(entry.title))
    return Hit(
        name=part[language] if part else _(entry.title),
        kind="part" if part else "lesson" if entry.under == "learn" else "page",
        icon=entry.icon,
        page=entry.file,
        query=one.get("query", {}),
        words=" ".join((*titles, *asked)),
        prose="" if part else _prose(entry.url.replace("-", "_"), language),
    )


def _prose(name: str, language: str) -> str:
    """A page's texts: those of a lesson, or those whose names begin with the page's."""
    files = [*PROSE.glob(f"{language}/learn_{name}.md"), *PROSE.glob(f"{language}/course_{name}.md")]
    return " ".join(file.read_text(encoding="utf-8") for file in files or PROSE.glob(f"{language}/{name}*.md"))


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
    hits = index(current(), regional()).find(text or "")
    if text and not hits:
        st.caption(_("Nothing is called so here: try another word, or the menu."))
    language = {"lang": st.query_params["lang"]} if "lang" in st.query_params else {}
    kinds = {"page": _("Page"), "part": _("Part"), "lesson": _("Lesson"), "equation": _("Equation"), "term": _("Term")}
    for hit in hits:
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", gap="small"):
            st.page_link(hit.page, label=hit.name, icon=hit.icon, query_params={**hit.query, **language})
            st.caption(hit.meaning or kinds[hit.kind], width="content")
