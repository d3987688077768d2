"""The lecture as plain files: each part's page with states of its main dial, the app's own tables, drawings and equations.

The app's pages run in Streamlit's own test runner, once a state; a state is written once per language (`lesson_page.plain`).
All states of a part are one compressed text in its page, and the one it opens with stands in the page itself, so that a browser
without scripts has it.
"""

from __future__ import annotations

import json
import logging
import re
import shutil
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from gzip import compress
from html import escape
from pathlib import Path
from typing import Any, Final

from streamlit.testing.v1 import AppTest
from tqdm import tqdm

from core.lecture import course
from pages.learn import lesson, plain_view
from pages.learn.lesson_page import TOUR
from pages.shared.assets import PLOTLY, SCRIPTS, style
from pages.shared.language import LANGUAGES, _, number, speaking
from pages.shared.navigation import ENTRIES, ROOT, PageEntry

PLAIN: Final = ("plain_view.js", "live_plot.js", "tour.js", "recall.js")
WAIT_S: Final = 300
IN_COURSE: Final = tuple(dict.fromkeys(one.url for one in course.LESSONS))


@dataclass(frozen=True, kw_only=True)
class PartFile:
    """A part's file.

    Attributes:
        url: of its page. part: its code; "" for a page without parts. states: per language, one for each stop of the main dial.
        at: the state that the page opens with.
    """

    url: str
    part: str
    states: Mapping[str, Sequence[Mapping[str, Any]]]
    at: int

    @property
    def name(self) -> str:
        """Its file's name."""
        return f"{self.url}-{self.part}.html".replace("-.", ".").replace("_", "-")

    def title(self, language: str) -> tuple[str, str]:
        """Titles of page and part."""
        first = self.states[language][self.at]
        return str(first["title"]), str(first["part"])


def build(folder: Path, *, lessons: Sequence[str] | None = None, address: str = "", handouts: bool = True) -> list[Path]:
    """Write the tour; returns the handouts' HTML files, one per page and language.

    Args:
        lessons: addresses of pages; those of the course and, after them, of the pages beside it where None.
        address: of an app, for the handouts' links.

    Raises:
        ValueError: for a page that is none of the lecture's.
    """
    for name in ("scriptrunner_utils.script_run_context", "state.session_state_proxy"):
        logging.getLogger(f"streamlit.runtime.{name}").addFilter(lambda _record: False)  # each run begins without a visitor
    entries = [
        one
        for one in ENTRIES
        if one.section == "Learn" and one.path.startswith("learn/") and one.url not in ("learn", "equations")
    ]
    known = {one.url: one for one in entries}
    wanted = lessons or sorted(known, key=lambda url: IN_COURSE.index(url) if url in IN_COURSE else len(IN_COURSE))
    if unknown := [one for one in wanted if one not in known]:
        raise ValueError(f"no lesson has the address {unknown[0]}: choose among {', '.join(known)}")
    (folder / "assets").mkdir(parents=True, exist_ok=True)
    for name in (*PLAIN, PLOTLY.partition("?")[0].removeprefix("/assets/")):
        shutil.copyfile(SCRIPTS / name, folder / "assets" / Path(name).name)
    styles = "".join(style(f"{name}.css") for name in ("plain_view", "recall", "matrix", "diagram"))
    (folder / "assets" / "plain.css").write_text(styles, encoding="utf-8")
    files: list[PartFile] = []
    sheets: dict[tuple[str, str], list[str]] = {}
    for url in tqdm(wanted, unit="page", disable=None):
        for file, sheet in _parts(known[url], address):
            files.append(file)
            for language in LANGUAGES:
                sheets.setdefault((language, url), []).append(sheet[language])
    for language in LANGUAGES:
        with speaking(language):
            (folder / language).mkdir(exist_ok=True)
            (folder / language / "index.html").write_text(_index(files, language), encoding="utf-8")
            for file in files:
                (folder / language / file.name).write_text(_page(file, files, language), encoding="utf-8")
    (folder / "index.html").write_text(_entrance(), encoding="utf-8")
    return [_sheet(folder, language, url, parts) for (language, url), parts in sheets.items()] if handouts else []


def _parts(entry: PageEntry, address: str) -> Iterator[tuple[PartFile, Mapping[str, str]]]:
    """Files of a page's parts, each with its handout by language."""
    first = _shown(entry, {}, address)
    for part in first["parts"]:
        query = {"part": part} if part else {}
        base = _shown(entry, query, address) if part != first["part"] else first
        states, at = [base], 0
        if base["stops"]:
            states = [_shown(entry, query | {base["key"]: stop}, address) for stop in base["stops"]]
            at = next((n for n, one in enumerate(states) if one["values"] == base["values"]), 0)
        by_language = {
            language: [one["views"][language] | {"stop": one["names"][language]} for one in states] for language in LANGUAGES
        }
        yield PartFile(url=entry.url, part=part, states=by_language, at=at), base["sheets"]


def _shown(entry: PageEntry, query: Mapping[str, str], address: str) -> dict[str, Any]:
    """Contents of a page at a link's choices, as `lesson_page.for_tour` keeps it."""
    app = AppTest.from_file(str(ROOT / entry.file), default_timeout=WAIT_S)
    app.query_params.update(query)
    app.session_state[TOUR] = kept = {"address": f"{address.rstrip('/')}/{entry.url}" if address else ""}
    app.run()
    if app.exception:
        raise RuntimeError(f"{entry.file} {dict(query)}: {app.exception[0].value}")
    return app.session_state[TOUR] or kept


def _frame(language: str, title: str, body: str, *, more: str = "") -> str:
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="stylesheet" href="../assets/plain.css">'
        f'</head><body class="plain">{body}{more}</body></html>'
    )


def _header(language: str, name: str, home: str) -> str:
    others = "".join(f'<a href="../{one}/{name}" lang="{one}">{own}</a>' for one, own in LANGUAGES.items() if one != language)
    return f'<header><a href="index.html"><b>{escape(home)}</b></a><span></span>{others}</header>'


def _page(file: PartFile, files: Sequence[PartFile], language: str) -> str:
    """A part: its story, the dial, the state it opens with, the lesson's questions, and the parts before and after."""
    title, part = file.title(language)
    states = file.states[language]
    here = course.lesson_of(file.url, file.part)
    story = plain_view.text(lesson.story(here, file.part)) if here else ""
    asked = lesson.recall(here, _("Three questions"), opened=True) if here else ""
    earlier = course.two_before(here) if here else None
    again = lesson.recall(earlier, lesson.again(earlier), opened=False) if earlier else ""
    home, predict = _("The course"), _("Predict first")
    place = files.index(file)
    near = "".join(
        f'<a href="{one.name}">{arrow} {escape(": ".join(filter(None, one.title(language))))}</a>'
        for arrow, one in (
            ("←", files[place - 1] if place else None),
            ("→", files[place + 1] if place + 1 < len(files) else None),
        )
        if one is not None
    )
    dial = ""
    if len(states) > 1:
        label, _value = states[file.at]["dial"]
        dial = (
            f'<p class="tour-dial"><label>{escape(label)} <input type="range" id="dial" min="0" max="{len(states) - 1}" step="1" '
            f'value="{file.at}"></label> <output>{escape(states[file.at]["stop"])}</output></p>'
        )
    ask = states[file.at].get("question")
    guess = (
        f"<details><summary>{predict}: {escape(ask['text'])} <small>{escape(' · '.join(ask['options']))}</small></summary>"
        f"<p><b>{escape(ask['options'][ask['answer']])}.</b> {escape(ask['why'])}</p></details>"
        if ask
        else ""
    )
    packed = b64encode(
        compress(json.dumps([{k: s[k] for k in ("stop", "dials", "body")} for s in states]).encode(), mtime=0)
    ).decode()
    body = (
        f"{_header(language, file.name, home)}<main><h1>{escape(': '.join(filter(None, (title, part))))}</h1>"
        f"{again}{story}{guess}{dial}"
        f'<section id="view">{_state(states[file.at])}</section>'
        f"{asked}<nav>{near}</nav></main>"
    )
    scripts = f'<script type="text/plain" id="states">{packed}</script><script type="module" src="../assets/tour.js"></script>'
    return _frame(language, f"{title}: {part}", body, more=scripts)


def _state(state: Mapping[str, Any]) -> str:
    dials = " · ".join(f"{escape(name)}: {escape(value)}" for name, value in state["dials"])
    return f'<p class="dials">{dials}</p>{state["body"]}'


def _index(files: Sequence[PartFile], language: str) -> str:
    title, beside = _("The course"), _("Beside the course")
    rows = ""
    for url in dict.fromkeys(one.url for one in files):
        parts = [one for one in files if one.url == url]
        page, _part = parts[0].title(language)
        here = course.lesson_of(url)
        lead = f"{number(course.number(here))} · " if here else ""
        links = " · ".join(f'<a href="{one.name}">{escape(one.title(language)[1] or page)}</a>' for one in parts)
        sheet = f' · <a href="../handouts/{language}/{url}.pdf">PDF</a>'
        rows += f"<li><b>{lead}{escape(page)}</b><br>{links}{sheet}</li>"
        if here and not any(course.lesson_of(one.url) for one in files[files.index(parts[-1]) + 1 :]):
            rows += f"</ul><h2>{escape(beside)}</h2><ul>"
    body = f"{_header(language, 'index.html', title)}<main><h1>{escape(title)}</h1><ul class='tour'>{rows}</ul></main>"
    return _frame(language, title, body)


def _entrance() -> str:
    links = "".join(f'<p><a href="{code}/index.html" lang="{code}">{name}</a></p>' for code, name in LANGUAGES.items())
    body = f"<main><h1>Attention Observatory</h1>{links}</main>"
    return _frame("en", "Attention Observatory", body).replace("../assets/", "assets/")


def _sheet(folder: Path, language: str, url: str, parts: Sequence[str]) -> Path:
    """Handouts of a page's parts as one file, each part on pages of its own."""
    place = folder / "handouts" / language
    place.mkdir(parents=True, exist_ok=True)
    bodies = [re.sub(r"(?s)^.*<body>|</body>.*$", "", one) for one in parts]
    joined = '<div style="break-before: page"></div>'.join(bodies)
    made = place / f"{url}.html"
    made.write_text(re.sub(r"(?s)(<body>).*(</body>)", lambda match: match[1] + joined + match[2], parts[0]), encoding="utf-8")
    return made
