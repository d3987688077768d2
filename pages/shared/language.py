"""The reader's language: short strings by gettext, numbers and dates by Babel, prose from Markdown files.

English is the source; another language is a folder `assets/locale/<code>` with a `.po` catalogue (`make messages` extracts
and updates it) and a folder `assets/text/<code>`. Catalogues are compiled when first read, so a fresh clone needs no step.

The browser's language decides. The switch at the top overrides it and lives in the URL (`?lang=es`). Numbers and dates are
written as the browser's region does, where its language is the one on screen: 1,234.5 in Peru and 1.234,5 in Spain.

    from pages.shared.language import _, ngettext, number
    st.metric(_("Spread"), _("{value} bps").format(value=number(spread, 2)))

Translate whole sentences with named gaps, never glued pieces. Module-level constants are marked with `N_` and translated
where they are shown.
"""

import gettext
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import cache, lru_cache
from io import BytesIO
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st
from babel import Locale, UnknownLocaleError, dates, numbers, units
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from core import messages
from core.messages import N_ as N_
from pages.shared import streamlit_private, url_state

ASSETS: Final = Path(__file__).resolve().parents[2] / "assets"
SOURCE: Final = "en"
LANGUAGES: Final = {"en": "English", "es": "Español"}
"""Code and own name of each language offered."""

PARAMETER: Final = "lang"
SECTION: Final = re.compile(r"^## +(\w+) *$", re.MULTILINE)


_chosen: ContextVar[str | None] = ContextVar("language", default=None)
"""Set where a text is wanted in a given language outside a page's run."""


def translate_to(language: str, message: str) -> str:
    """A message of core in this language ("es", or "es-PE" for its numbers too), from any thread or task."""
    with speaking(language):
        return messages.translate(message)


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Texts in this language ("es", or "es-PE" for its numbers too), whoever is looking; English where it is not offered."""
    code = language.partition("-")[0]
    token = _chosen.set(_region(code, language) if code in LANGUAGES else SOURCE)
    try:
        yield
    finally:
        _chosen.reset(token)


_of_run: ContextVar[tuple[object, str] | None] = ContextVar("language of a run", default=None)
"""Mark of a run, and its language with the region. A page wants it hundreds of times; asking Streamlit each time took a fifth
of a dial's time."""


def current() -> str:
    """Code of the reader's language: the switch, else the link, else the browser, else English."""
    return regional().partition("-")[0]


def regional() -> str:
    """The reader's language with the region whose numbers and dates it has, where the browser names one: "es-PE", "es"."""
    if (chosen := _chosen.get()) is not None:
        return chosen
    run = streamlit_private.this_run()
    if run is None:
        return _with_region(_asked_for())
    if (known := _of_run.get()) is None or known[0] is not run:
        _of_run.set(known := (run, _with_region(_asked_for())))
    return known[1]


def _with_region(code: str) -> str:
    return _region(code, st.context.locale or "")


@lru_cache(maxsize=256)
def _region(code: str, browser: str) -> str:
    """The browser's tag where it is of this language, is known, and counts in thousands, as the patterns below do."""
    tag = browser.replace("_", "-")
    if tag.partition("-")[0].lower() != code:
        return code
    try:
        locale = Locale.parse(tag, sep="-")
    except (ValueError, UnknownLocaleError):
        return code
    same = all(locale.number_symbols["latn"][kind] == _parsed(code).number_symbols["latn"][kind] for kind in ("decimal", "group"))
    # texts of the source language are in the code, with its marks
    return tag if locale.decimal_formats[None].pattern == "#,##0.###" and (same or code != SOURCE) else code


def _asked_for() -> str:
    code = st.session_state.get(PARAMETER) or st.query_params.get(PARAMETER)
    return str(code) if code in LANGUAGES else from_browser()


def from_browser() -> str:
    """Code of the browser's language if it is offered, else English."""
    code = (st.context.locale or SOURCE).replace("_", "-").split("-")[0].lower()
    return code if code in LANGUAGES else SOURCE


def switch() -> None:
    """The language switch."""
    url_state.choice(
        st.segmented_control,
        _("Language"),
        LANGUAGES,
        key=PARAMETER,
        default=from_browser(),
        sticky=True,
        label_visibility="collapsed",
    )
    _of_run.set(None)


def _(message: str) -> str:
    """The message in the reader's language."""
    return catalogue(regional()).gettext(message) if message else ""


def _outside_a_run() -> bool:
    return _chosen.get() is None and streamlit_private.this_run() is None


def _for_this_viewer(message: str) -> str:
    """The translator that `core.messages` uses: the viewer's language in a page's run, English everywhere else."""
    return message if _outside_a_run() else _(message)


def _numbers_for_this_viewer(text: str) -> str:
    """A number as English writes it ("1,234.5", "12.5%") with the viewer's marks."""
    if _outside_a_run():
        return text
    symbols = _locale().number_symbols["latn"]
    percent = _locale().percent_formats[None].pattern.removeprefix("#,##0")  # in Spanish after a space that does not break
    return text.translate({ord("."): symbols["decimal"], ord(","): symbols["group"], ord("%"): percent})


messages.register(_for_this_viewer, _numbers_for_this_viewer)


def ngettext(one: str, many: str, count: int) -> str:
    """The form that agrees with `count`."""
    return catalogue(regional()).ngettext(one, many, count)


@lru_cache(maxsize=64)
def catalogue(language: str) -> gettext.NullTranslations:
    """A language's catalogue, compiled from its `.po`, with the numbers of the region; fuzzy entries count as missing."""
    code = language.partition("-")[0]
    path = ASSETS / "locale" / code / "LC_MESSAGES" / "messages.po"
    if not path.exists():
        return gettext.NullTranslations()
    with path.open("rb") as file:
        catalogue_file = read_po(file, locale=code)
    for message in catalogue_file:
        written = message.string
        if isinstance(written, str):
            message.string = _regions(written, language)
        elif written:
            message.string = tuple(_regions(one, language) for one in written)
    compiled = BytesIO()
    write_mo(compiled, catalogue_file)
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


@lru_cache(maxsize=1024)
def _prose(name: str, language: str) -> str:
    text = (ASSETS / "text" / language.partition("-")[0] / f"{name}.md").read_text(encoding="utf-8")
    return _regions(text, language)


def _regions(text: str, language: str) -> str:
    """A translation with the region's marks in its own numbers, which have the language's: 5.000 and 0,9 in Spanish."""
    own, there = (_parsed(tag).number_symbols["latn"] for tag in (language.partition("-")[0], language))
    marks = {ord(own[kind]): there[kind] for kind in ("decimal", "group")}
    decimal, group = re.escape(own["decimal"]), re.escape(own["group"])
    numbers_in_text = rf"\d{{1,3}}(?:{group}\d{{3}})+(?:{decimal}\d+)?\b|\d+{decimal}\d+"
    return re.sub(numbers_in_text, lambda match: match[0].translate(marks), text)


def prose(*names: str) -> str:
    """The Markdown texts of `assets/text/<language>/<name>.md`, one below the other.

    Raises:
        FileNotFoundError: where that language lacks it (a test holds the folders equal).
    """
    return "\n\n".join(_prose(name, regional()) for name in names)


@cache
def sections(content: str) -> dict[str, str]:
    """The sections `## name` of a Markdown text, by name."""
    parts = SECTION.split(content)
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def prose_section(name: str, section: str) -> str:
    """A section of a Markdown text in the reader's language.

    Raises:
        KeyError: where the text has no such section (a test compares both languages).
    """
    return sections(prose(name))[section]


def number(value: float, digits: int = 0, *, sign: bool = False) -> str:
    """A number with a fixed count of decimals: 1,234.50 or 1234,50; one of over fifteen digits with a power of ten."""
    if not math.isfinite(value):
        return significant(value)
    if abs(value) >= 1e15:
        return scientific(value)
    pattern = "#,##0" + ("." + "0" * digits if digits else "")
    return _written(value, f"+{pattern};-{pattern}" if sign else pattern, math.copysign(1, value) < 0, regional())


@lru_cache(maxsize=8192)
def _written(value: float, pattern: str, _below_zero: bool, language: str) -> str:
    """Kept by its sign too, as -0.0 equals 0.0 and is written otherwise."""
    return str(numbers.format_decimal(value, format=_pattern(pattern), locale=_parsed(language)))


def significant(value: float, digits: int = 3) -> str:
    """A number with as many decimals as this many significant digits need: 0.0411 or 0,0411; ∞, and a dash for what is none."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "-∞"
    rounded = float(f"{value:.{digits}g}")  # kept by it, which neighbouring numbers share
    return _written(rounded, "@" + "#" * (digits - 1), math.copysign(1, value) < 0, regional())


def scientific(value: float) -> str:
    """A number with a power of ten: 4.4e-16 or 4,4e-16."""
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{number(float(mantissa), 1)}e{exponent}"


def compact(value: float) -> str:
    """Three significant digits; tiny ones as 4.4e-16."""
    return significant(value) if value == 0 or abs(value) >= 1e-3 else scientific(value)


_pattern = lru_cache(maxsize=64)(numbers.parse_pattern)
"""A pattern that Babel has read: reading it anew for each number takes four times as long as writing the number."""


def percent(share: float, digits: int = 1) -> str:
    """A share of one, in percent."""
    sign = _locale().percent_formats[None].pattern.removeprefix("#,##0")  # in Spanish after a space that does not break
    pattern = "#,##0" + ("." + "0" * digits if digits else "") + sign
    return str(numbers.format_percent(share, format=_pattern(pattern), locale=_locale()))


def size(count: float) -> str:
    """Bytes in the largest binary unit that leaves 1 or more: 25.0 MiB."""
    for unit in ("B", "KiB", "MiB"):
        if abs(count) < 1024:
            return f"{number(count, 0 if unit == 'B' else 1)} {unit}"
        count /= 1024
    return f"{number(count, 1)} GiB"


def duration(seconds: float) -> str:
    """Seconds in the largest unit that leaves 1 or more: 250 ms, 2.5 s, 12 min, 3.1 h."""
    value, unit = seconds, "second"
    if 0 < seconds < 1:
        value, unit = seconds * 1e3, "millisecond"
    elif seconds >= 5400:
        value, unit = seconds / 3600, "hour"
    elif seconds >= 90:
        value, unit = seconds / 60, "minute"
    return str(units.format_unit(value, unit, length="short", format="#,##0.#", locale=_locale()))


def moment(when: datetime, *, zone: str | None = None) -> str:
    """An aware date and time, in this time zone; in the browser's where None."""
    return str(dates.format_datetime(when, "medium", tzinfo=_zone(zone), locale=_locale()))


def _zone(name: str | None) -> ZoneInfo:
    try:
        return ZoneInfo(name or st.context.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


@lru_cache(maxsize=256)
def _parsed(language: str) -> Locale:
    return Locale.parse(language, sep="-")


def _locale() -> Locale:
    return _parsed(regional())
