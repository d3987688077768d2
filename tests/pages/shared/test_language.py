"""Languages: which one is shown, its numbers and dates, and that nothing is missing."""

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import DEFAULT_KEYWORDS, extract
from babel.messages.pofile import read_po
from streamlit.testing.v1 import AppTest

from core.messages import Refusal, compose
from pages.shared import language
from scripts.refusals import refusals
from tests.pages.open_page import open_page

ROOT = language.ASSETS.parent
TRANSLATED = [code for code in language.LANGUAGES if code != language.SOURCE]
PAGES = [ROOT / "streamlit_app.py", *sorted((ROOT / "pages").rglob("*.py"))]
CORE = [*sorted((ROOT / "core").rglob("*.py")), *sorted((ROOT / "attention_light").rglob("*.py"))]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
REFUSALS = set(refusals())
MARKED = {*re.findall(r"--keywords (\w+)", MAKEFILE), *REFUSALS, *DEFAULT_KEYWORDS}
"""Functions whose first argument `make messages` extracts."""


def page() -> None:
    import streamlit as st

    from pages.shared import language
    from pages.shared.language import _, ngettext

    language.switch()
    st.text(_("Memory"))
    st.text(ngettext("{n} step", "{n} steps", 2).format(n=2))
    st.text(language.number(1234567.891, 2))


def run(locale: str | None, **query: str) -> AppTest:
    return open_page(page, {"locale": locale}, **query)


@pytest.mark.parametrize(("locale", "query", "word"), [
    ("en-GB", {}, "Memory"),
    ("es-MX", {}, "Memoria"),
    ("es", {}, "Memoria"),
    ("fr-FR", {}, "Memory"),
    (None, {}, "Memory"),
    ("en-US", {"lang": "es"}, "Memoria"),
    ("es-ES", {"lang": "en"}, "Memory"),
    ("es-ES", {"lang": "xx"}, "Memoria"),
])  # fmt: skip
def test_link_then_browser_then_english(locale: str | None, query: dict[str, str], word: str) -> None:
    assert run(locale, **query).text[0].value == word


def test_the_switch_overrides_the_browser_and_lives_in_the_url() -> None:
    app = run("en-US")
    app.segmented_control[0].set_value("es").run()
    assert app.text[0].value == "Memoria" and app.query_params == {"lang": "es"}
    app.segmented_control[0].set_value("en").run()
    assert app.text[0].value == "Memory" and app.query_params == {}


@pytest.mark.parametrize(("locale", "query", "written"), [
    ("es-PE", {}, "1,234,567.89"),
    ("es-419", {}, "1,234,567.89"),
    ("es-AR", {}, "1.234.567,89"),
    ("es-ES", {"lang": "en"}, "1,234,567.89"),
    ("en-US", {"lang": "es"}, "1.234.567,89"),
    ("es-XQ", {}, "1.234.567,89"),  # no region that anybody knows
    ("en-IN", {}, "1,234,567.89"),  # counts in lakhs, which the patterns here do not
    ("es-PE-x-" + "y" * 400, {}, "1.234.567,89"),
])  # fmt: skip
def test_numbers_follow_the_region_where_it_speaks_the_language(locale: str, query: dict[str, str], written: str) -> None:
    """As CLDR has it: points for decimals in Peru and Latin America at large, commas in Spain and Argentina."""
    assert run(locale, **query).text[2].value == written


def test_a_translations_own_numbers_have_the_regions_marks() -> None:
    for tag, words in (
        ("es", ("0,9", "5.000", "10.000,5")),
        ("es-PE", ("0.9", "5,000", "10,000.5")),
        ("es-ES", ("0,9", "5.000", "10.000,5")),
    ):
        written = language._regions("β = 0,9; 5.000 de 10.000,5; sección 11.7, versión 2.18.0, http://127.0.0.1:9000/", tag)
        assert written == "β = {}; {} de {}; sección 11.7, versión 2.18.0, http://127.0.0.1:9000/".format(*words)
    rate = "η₀ = 0.001, E = 1000 steps in all; warm-up until step w, then the cosine"
    assert "η₀ = 0.001" in language.catalogue("es-PE").gettext(rate)
    assert "η₀ = 0,001" in language.catalogue("es-ES").gettext(rate)


def test_a_message_for_another_thread_has_the_numbers_of_its_region() -> None:
    for tag, written in (("es-PE", "2.5"), ("es-ES", "2,5"), ("es", "2,5"), ("../../es", "2.5"), ("en", "2.5")):
        assert written in language.translate_to(tag, compose("{name} answered after {ms:.1f} ms: {limit:.0f} ms are allowed.",
                                                             name="X", ms=2.5, limit=1.0))  # fmt: skip


def test_formats_outside_a_page_are_english() -> None:
    assert language.number(3.14159, 2) == "3.14" and language.number(2, 1, sign=True) == "+2.0"
    assert language.number(-0.5, 1, sign=True) == "-0.5"
    assert language.percent(0.1234) == "12.3%" and language.scientific(-4.44e-16) == "-4.4e-16"
    assert language.number(-2.5e29, 3) == "-2.5e+29" and language.number(float("inf"), 1) == "∞"
    assert language.size(25 * 1024**2) == "25.0 MiB" and language.size(512) == "512 B" and language.size(3 * 1024**3) == "3.0 GiB"
    assert language.moment(datetime(2024, 7, 23, 15, 39, tzinfo=UTC)).replace("\u202f", " ") == "Jul 23, 2024, 3:39:00 PM"


@pytest.mark.parametrize(("seconds", "text"), [(0.25, "250 ms"), (2.5, "2.5 s"), (60, "60 s"), (600, "10 min"), (7200, "2 h")])
def test_durations_take_a_fitting_unit(seconds: float, text: str) -> None:
    assert language.duration(seconds).replace("sec", "s").replace("hr", "h") == text


def used_strings() -> Iterator[tuple[str, str]]:
    """Every string marked for translation, and where it is."""
    keywords = {name: DEFAULT_KEYWORDS.get(name) for name in MARKED}
    for path in (*PAGES, *CORE):
        with path.open("rb") as file:
            for line, message, _comments, _context in extract("python", file, keywords):
                yield message if isinstance(message, str) else message[0], f"{path.relative_to(ROOT)}:{line}"


def called() -> Iterator[tuple[str, str]]:
    """Every string that is translated, wherever it stands: Babel sees none inside of an f-string."""
    for path in (*PAGES, *CORE):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="_" | "ngettext"), args=[ast.Constant(value=str(text)), *_]):
                    yield text, f"{path.relative_to(ROOT)}:{node.lineno}"


def catalogue_of(code: str) -> Catalog:
    with (ROOT / "assets" / "locale" / code / "LC_MESSAGES" / "messages.po").open("rb") as file:
        return read_po(file, locale=code)


@pytest.mark.parametrize("code", TRANSLATED)
def test_no_string_is_missing_fuzzy_or_left_over(code: str) -> None:
    catalogue = catalogue_of(code)
    used: set[str] = set()
    problems: list[str] = []
    for text, place in used_strings():
        used.add(text)
        entry = catalogue.get(text)
        where = f"{place}: {text!r}"
        if entry is None or not (all(entry.string) if isinstance(entry.string, tuple) else entry.string):
            problems.append(f"{where} is not translated")
        elif entry.fuzzy:
            problems.append(f"{where} is fuzzy")
    problems += [
        f"{place}: {text!r} lies in an f-string, where it is not extracted" for text, place in called() if text not in used
    ]
    problems += [f"{entry.id!r} is no longer used" for entry in catalogue if entry.id and singular_of(entry) not in used]
    assert not problems, "run `make messages` and translate:\n" + "\n".join(problems)


def singular_of(entry: Message) -> str:
    return str(entry.id if isinstance(entry.id, str) else entry.id[0])


def gaps(text: str) -> list[str]:
    return sorted(re.findall(r"\{[^{}]*\}", text))


@pytest.mark.parametrize("code", TRANSLATED)
def test_translations_have_the_gaps_of_the_original(code: str) -> None:
    for entry in catalogue_of(code):
        if not entry.id:
            continue
        originals = (entry.id,) if isinstance(entry.id, str) else entry.id
        translations = (entry.string,) if isinstance(entry.string, str) else entry.string
        for translation in translations:
            assert gaps(translation) in [gaps(original) for original in originals], f"{entry.id!r} -> {translation!r}"
            markup = re.compile(r"\*\*|`|^ | $")
            assert len(markup.findall(translation)) == len(markup.findall(originals[0])), f"{entry.id!r} -> {translation!r}"


def test_prose_exists_in_every_language() -> None:
    folders = {code: language.ASSETS / "text" / code for code in language.LANGUAGES}
    names = {code: {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")} for code, folder in folders.items()}
    assert all(found == names[language.SOURCE] for found in names.values()), names


# What a person reads as the first argument (or label=, help=, placeholder=...) of these has to go through gettext.
WIDGETS = """
title header subheader caption markdown write text info warning error success toast metric button download_button
checkbox toggle radio selectbox multiselect slider select_slider text_input number_input text_area date_input
time_input file_uploader camera_input audio_input color_picker expander popover spinner status segmented_control
pills page_link link_button form_submit_button tabs page_header error_box chat_input dialog
"""
SHOWN_FIRST = set(WIDGETS.split())
SHOWN_BY_NAME = {"label", "help", "placeholder", "caption", "alt", "remedy", "lead", "x_title", "y_title"}
SHOWN_SECOND = {"notice", "choice"}

NOT_WORDS = r":material/\w+:|`[^`]*`|^\S+\.py$|\]\([\w/?=.-]*|https?://\S*"
"""Icons, code, files and addresses: no text for a person."""


def raw_text(node: ast.expr) -> bool:
    """Whether an expression is text for a person that gettext does not see."""
    if isinstance(node, ast.Constant):
        text = re.sub(NOT_WORDS, "", node.value) if isinstance(node.value, str) else ""
        return re.search(r"[A-Za-z]{2}", text) is not None
    if isinstance(node, ast.JoinedStr):
        return any(raw_text(part) for part in node.values if isinstance(part, ast.Constant))
    if isinstance(node, (ast.List, ast.Tuple)):
        return any(raw_text(part) for part in node.elts)
    if isinstance(node, ast.BinOp):
        return raw_text(node.left) or raw_text(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return raw_text(node.func.value)
    return isinstance(node, ast.IfExp) and (raw_text(node.body) or raw_text(node.orelse))


def raw_strings(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
        shown = [node.args[0]] if name in SHOWN_FIRST and node.args else []
        shown += [node.args[1]] if name in SHOWN_SECOND and len(node.args) > 1 else []
        shown += [keyword.value for keyword in node.keywords if keyword.arg in SHOWN_BY_NAME]
        for value in shown:
            if raw_text(value):
                yield node.lineno, ast.unparse(value)


def test_pages_show_no_raw_strings() -> None:
    found = [f"{path.name}:{line}: {text}" for path in PAGES for line, text in raw_strings(path.read_text(encoding="utf-8"))]
    assert not found, "put these through _():\n" + "\n".join(found)


RAW = (
    "st.title('Live order book')",
    "st.metric(f'Spread {x}', 1)",
    "st.button('Go' if a else _('Stop'))",
    "st.tabs(['One', _('Two')])",
    "st.caption('{n} steps'.format(n=2))",
    "live_plot(f, key='k', alt='A plot')",
    "url_state.choice(st.radio, 'Source', {})",
)
TRANSLATED_ONES = (
    "st.title(_('Live order book'))",
    "st.markdown(_('{n} steps').format(n=2))",
    "st.metric(_('Spread'), f'{x:.1f}')",
    "st.button(':material/play_arrow:')",
    "st.text('')",
    "st.page_link('pages/markets/live.py', label=_('Live'))",
    "st.markdown(f'{a} · {b}')",
)


def test_the_check_sees_raw_strings_and_lets_translated_ones_pass() -> None:
    assert [source for source in RAW if not list(raw_strings(source))] == []
    assert [source for source in TRANSLATED_ONES if list(raw_strings(source))] == []


# fmt: off
SHOWN_ERRORS = {
    "BadValue", "BookError", "CatalogueUnavailable", "CheckpointError", "CTCError", "EmptyList", "FeedFailed",
    "FindingError", "FormatError", "GradientError", "MissingModels", "NotAllowed", "OutOfStep",
    "PictureError", "ReadingError",
    "TooManyFeeds", "RunError", "UnusableBook", "VideoError", "WentQuiet", "WindowError",
}
# fmt: on
"""Exceptions of core whose text a page shows."""
ALSO_SHOWN = ("models/*.py", "market/predictor.py", "signs/ctc_lab.py", "signs/recogniser.py", "signs/vocabulary.py")
"""Files of core whose ValueErrors a page shows, alone or as the reason of a CheckpointError."""


def plain_errors(path: Path) -> Iterator[str]:
    """Errors for a page whose message is not composed, so that it could not be translated."""
    shown = SHOWN_ERRORS | ({"ValueError"} if any(path.match(f"core/{pattern}") for pattern in ALSO_SHOWN) else set())
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Call)
            and node.args
            and (name := ast.unparse(node.func).rpartition(".")[2]) in shown
            and raw_text(node.args[-1])
            and not (name in REFUSALS and isinstance(node.args[0], ast.Constant))
        ):
            yield f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node.args[-1])}"


def test_errors_that_pages_show_are_composed() -> None:
    found = [problem for path in CORE for problem in plain_errors(path)]
    assert not found, "put these through compose():\n" + "\n".join(found)


def test_every_error_that_composes_its_text_is_extracted() -> None:
    """As Python knows them, where the Makefile reads the sources."""
    for path in CORE:
        if path.name != "__main__.py" and "hands" not in path.parts:
            import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    kinds, below = {Refusal}, [Refusal]
    while below:
        below = [one for kind in below for one in kind.__subclasses__() if one.__module__.startswith("core.")]
        kinds |= set(below)
    assert {kind.__name__ for kind in kinds} == REFUSALS


def test_every_error_of_core_that_a_page_catches_is_checked() -> None:
    """A page that catches a new exception of core has to be added above."""
    caught: set[str] = set()
    for path in PAGES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler) and node.type is not None and node.name:
                kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
                caught |= {ast.unparse(kind).rpartition(".")[2] for kind in kinds if not isinstance(kind, ast.Call)}
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "LessonPage" and isinstance(node.args[-1], ast.Dict):
                told = zip(node.args[-1].keys, node.args[-1].values, strict=True)
                caught |= {ast.unparse(kind) for kind, pair in told if kind and ast.unparse(pair).startswith("('',")}
    assert caught - {"ValueError", "OSError", "TimeoutError", "Refusal"} <= SHOWN_ERRORS  # Refusal: the base of those above


@pytest.mark.parametrize(("call", "plain"), [
    ("VideoError('the file is empty')", False),
    ("checkpoints.CheckpointError(f'the card {name} is damaged')", True),
    ("ValueError('the file has no rows')", False),
    ("BookError(f'{name} has no rows', name=name)", True),
    ("BookError(compose('{name} has no rows', name=name))", False),
    ("BookError('{name} has no rows', name=name)", False),
])  # fmt: skip
def test_the_check_sees_errors_that_are_not_composed(
    call: str, plain: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.pages.shared.test_language.ROOT", tmp_path)
    path = tmp_path / "errors.py"
    path.write_text(f"raise {call}\n", encoding="utf-8")
    assert bool(list(plain_errors(path))) is plain


def failing_page() -> None:
    from core.market.book import BookError
    from core.messages import compose
    from pages.shared import controls
    from pages.shared.language import _

    assert _("Memory")
    reason = compose("the video is {duration:.1f} s long: start before its end, not at {start:g} s", duration=2.5, start=3.25)
    controls.error_box(str(BookError(compose("the card {file} is not valid JSON: {reason}", file="a.json", reason=reason))))


@pytest.mark.parametrize(("query", "number"), [({}, "2.5 s"), ({"lang": "es"}, "2,5 s")])
def test_an_error_of_core_is_told_in_the_readers_language(query: dict[str, str], number: str) -> None:
    text = open_page(failing_page, **query).error[0].value
    assert number in text and "a.json" in text and text[0].isupper() and text.endswith(".")
    assert ("not valid" in text) is (not query) and ("the video" in text) is (not query)
