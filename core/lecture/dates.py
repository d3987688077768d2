"""Dates as people write them, in English and Spanish, with their ISO form: the task of the encoder-decoder's page.

The seed decides which days and formats belong to training, validation and test. A test sample has both a day and a format that
are not in training.

The conventions, without which some dates have no single answer:
- all-numeric dates are day first (03/04/1979 is the third of April), unless the year comes first: never month first;
- a year of two digits is the POSIX one: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068;
- capitals and accents are removed first (`normalise`).
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from itertools import takewhile
from typing import Final, Literal

import numpy as np

Part = Literal["train", "validation", "test"]
Language = Literal["en", "es", "numeric"]

PAD, BEGIN, END, UNKNOWN = 0, 1, 2, 3
SIGNS: Final = ("␀", "▷", "■", "�")
"""Glyphs of the four special symbols: padding, begin, end, unknown character."""
CHARACTERS: Final = " ',-./:0123456789abcdefghijklmnopqrstuvwxyz"
SYMBOLS: Final = (*SIGNS, *CHARACTERS)
"""The vocabulary, of source and target alike: 47 symbols."""
NUMBERS: Final = {symbol: number for number, symbol in enumerate(SYMBOLS)}
FIRST_DAY, LAST_DAY = date(1900, 1, 1), date(2099, 12, 31)
TWO_DIGITS_FROM, TWO_DIGITS_TO = date(1969, 1, 1), date(2068, 12, 31)

MONTHS: Final = {
    "en": (
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
    ),
    "es": (
        "enero", "febrero", "marzo", "abril", "mayo", "junio",
        "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre",
    ),
}  # fmt: skip
WEEKDAYS: Final = {
    "en": ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    "es": ("lunes", "martes", "miercoles", "jueves", "viernes", "sabado", "domingo"),
}

LEADS: Final[dict[Language, tuple[str, ...]]] = {
    "en": ("{weekday}, ", "{weekday} ", "{wkd}, ", "{wkd} ", "on ", "on {weekday}, ", "date: ", "born ", "born on ", "the "),
    "es": ("{weekday}, ", "{weekday} ", "{wkd}, ", "{wkd} ", "el ", "el {weekday} ", "fecha: ", "nacido el ", "a ", "desde el "),
    "numeric": ("on ", "date: ", "born ", "el ", "fecha: ", "nacido el "),
}
"""Texts before a date; four in ten dates have none."""

BODIES: Final[dict[Language, tuple[str, ...]]] = {
    "en": (
        "{d} {month} {yyyy}", "{dd} {month} {yyyy}", "{d} {month}, {yyyy}", "{d} of {month} {yyyy}", "{d} of {month}, {yyyy}",
        "{ord} {month} {yyyy}", "{ord} of {month} {yyyy}", "{ord} of {month}, {yyyy}", "{ord} {month}, {yyyy}",
        "{ord} day of {month} {yyyy}", "{d} {mon} {yyyy}", "{dd} {mon} {yyyy}", "{d} {mon}. {yyyy}", "{d}-{mon}-{yyyy}",
        "{dd}-{mon}-{yyyy}", "{d}/{mon}/{yyyy}", "{d} {mon} '{yy}", "{d}-{mon}-{yy}", "{month} {d}, {yyyy}", "{month} {d} {yyyy}",
        "{month} {dd}, {yyyy}", "{month} {ord}, {yyyy}", "{month} {ord} {yyyy}", "{month} the {ord}, {yyyy}",
        "{month} the {ord} {yyyy}", "{mon} {d}, {yyyy}", "{mon} {d} {yyyy}", "{mon} {dd} {yyyy}", "{mon} {ord}, {yyyy}",
        "{mon}. {d}, {yyyy}", "{mon}-{d}-{yyyy}", "{month} {d}, '{yy}", "{yyyy} {month} {d}", "{yyyy}, {month} {d}",
        "{yyyy} {mon} {dd}", "{yyyy}-{mon}-{dd}", "{yyyy}, {d} {month}", "{yyyy} {d} {month}",
    ),
    "es": (
        "{d} de {month} de {yyyy}", "{dd} de {month} de {yyyy}", "{d} de {month} del {yyyy}", "{d} de {month}, {yyyy}",
        "{d} de {month} {yyyy}", "{d} {month} {yyyy}", "{dd} {month} {yyyy}", "{d} {month} de {yyyy}", "{d} {month}, {yyyy}",
        "{prim} de {month} de {yyyy}", "{prim} de {month} del {yyyy}", "{prim} {month} {yyyy}", "{d}.o de {month} de {yyyy}",
        "dia {d} de {month} de {yyyy}", "dia {d} de {month} del {yyyy}", "dia {d} del {m} de {yyyy}", "{d} del {mm} del {yyyy}",
        "{d} de {mon} de {yyyy}", "{d} {mon} {yyyy}", "{dd} {mon} {yyyy}", "{d} {mon}. {yyyy}", "{d} de {mon}. de {yyyy}",
        "{d}-{mon}-{yyyy}", "{dd}-{mon}-{yyyy}", "{d}/{mon}/{yyyy}", "{dd}/{mon}/{yyyy}", "{d} de {month} del {yy}",
        "{d} de {month} de '{yy}", "{d}-{mon}-{yy}", "{month} {d}, {yyyy}", "{month} {d} de {yyyy}", "{month} {d} del {yyyy}",
        "{mon} {d}, {yyyy}", "{mon} {d} {yyyy}", "{yyyy}, {d} de {month}", "{yyyy}, {month} {d}", "{yyyy} {month} {d}",
        "{yyyy}-{mon}-{dd}",
    ),
    "numeric": (
        *(
            separator.join(fields)
            for separator in "/-. "
            for fields in (
                ("{dd}", "{mm}", "{yyyy}"), ("{d}", "{m}", "{yyyy}"), ("{d}", "{mm}", "{yyyy}"), ("{dd}", "{m}", "{yyyy}"),
                ("{dd}", "{mm}", "{yy}"), ("{d}", "{m}", "{yy}"), ("{yyyy}", "{mm}", "{dd}"), ("{yyyy}", "{m}", "{d}"),
            )
        ),
        "{yyyy}{mm}{dd}",
    ),
}  # fmt: skip
"""Formats of the date itself: 38 in English, 38 in Spanish, 33 in digits alone."""

HELD_OUT: Final = {"validation": 0.10, "test": 0.15}
"""Share of the days, and of each language's bodies, held out from training."""


@dataclass(frozen=True, kw_only=True)
class DatePair:
    """A written date and its ISO form; `body` is its format without the lead before the date."""

    text: str
    iso: str
    body: str
    language: Language


def normalise(text: str) -> str:
    """The text in lower case, without accents, with single spaces, ASCII quotes and dashes."""
    plain = unicodedata.normalize("NFKD", text.lower())
    plain = "".join(mark for mark in plain if not unicodedata.combining(mark))
    plain = re.sub(r"[\u2018\u2019\u00b4`]", "'", re.sub(r"[\u2010-\u2015\u2212]", "-", plain))
    return " ".join(plain.split())


def encode_text(text: str) -> list[int]:
    """Symbol numbers of a normalised text; UNKNOWN for characters outside the vocabulary."""
    return [NUMBERS.get(character, UNKNOWN) for character in text]


def decode_text(symbols: Iterable[int]) -> str:
    """The characters up to the end sign, without a begin sign."""
    return "".join(SYMBOLS[symbol] for symbol in takewhile(lambda one: one != END, symbols) if symbol != BEGIN)


def parse_by_rules(text: str) -> str:
    """ISO date by hand-written rules, a baseline for the model; empty where the rules give none.

    A month's name decides the month; of the numbers, one of four digits is the year, else the last is; the other is the day.
    Without a name the numbers are year, month, day where the first has four digits, else day, month, year.
    """
    parts: list[str] = re.findall(r"\d+|[a-z]+", normalise(text))
    numbers = [part for part in parts if part.isdigit()]
    if len(numbers) == 1 and len(numbers[0]) == 8:
        numbers = [numbers[0][:4], numbers[0][4:6], numbers[0][6:]]
    long_first = sorted(numbers, key=lambda number: len(number) != 4)  # stable: the year first, if it has four digits
    months = [
        number
        for part in parts
        for names in MONTHS.values()
        for number, name in enumerate(names, start=1)
        if len(part) >= 3 and name.startswith(part)
    ]
    if "primero" in parts:
        long_first.append("1")
    if months and len(long_first) == 2:
        year, day = long_first if len(long_first[0]) == 4 else long_first[::-1]
        return _iso(year, months[-1], day)
    if len(numbers) == 3:
        year, month, day = numbers if len(numbers[0]) == 4 else numbers[::-1]
        return _iso(year, int(month), day)
    return ""


def _iso(year: str, month: int, day: str) -> str:
    whole = int(year) + (0 if len(year) == 4 else 1900 if int(year) >= 69 else 2000)
    return f"{whole:04}-{month:02}-{int(day):02}"


def is_calendar_date(iso: str) -> bool:
    """Tells whether the text is a day of the calendar, written YYYY-MM-DD."""
    try:
        return len(iso) == 10 and date.fromisoformat(iso).isoformat() == iso
    except ValueError:
        return False


def ordinal(day: int) -> str:
    """English ordinal: 1st, 2nd, 3rd, 4th ... 11th ... 21st."""
    suffix = "th" if 10 <= day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{suffix}"


def format_date(day: date, pattern: str, language: Language, *, long_september: bool = False) -> str:
    """A date in a format.

    Args:
        pattern: lead and body, with fields such as {d}, {dd}, {ord}, {prim} (Spanish "primero" for the first), {m}, {mm},
            {month}, {mon}, {yy}, {yyyy}, {weekday}, {wkd}.
        long_september: abbreviate September with four letters.
    """
    names: Literal["en", "es"] = "es" if language == "es" else "en"
    month, weekday = MONTHS[names][day.month - 1], WEEKDAYS[names][day.weekday()]
    return pattern.format(
        d=day.day,
        dd=f"{day.day:02}",
        ord=ordinal(day.day),
        prim="primero" if day.day == 1 else day.day,
        m=day.month,
        mm=f"{day.month:02}",
        month=month,
        mon=month[: 4 if long_september and day.month == 9 else 3],
        yy=f"{day.year % 100:02}",
        yyyy=day.year,
        weekday=weekday,
        wkd=weekday[:3],
    )


@cache
def days_of(part: Part, seed: int) -> np.ndarray:
    """The days of a part in random order, dates; parts do not overlap, and together cover 1900 to 2099."""
    count = (LAST_DAY - FIRST_DAY).days + 1
    order = np.random.default_rng([seed, 1]).permutation(count)
    validation, test = (int(count * HELD_OUT[one]) for one in ("validation", "test"))
    held = validation + test
    chosen = {"validation": order[:validation], "test": order[validation:held], "train": order[held:]}
    return np.array([FIRST_DAY + timedelta(days=int(number)) for number in chosen[part]], dtype=object)


def format_fields(body: str) -> frozenset[str]:
    """The fields of a body and the texts between them."""
    return frozenset(piece for piece in re.split(r"({\w+})", body) if piece)


@cache
def bodies_of(part: Part, seed: int) -> tuple[tuple[Language, str], ...]:
    """The formats of a part; a body is held out only where other training bodies of its language have all its fields."""
    bodies_by_part: dict[str, list[tuple[Language, str]]] = {"train": [], "validation": [], "test": []}
    for number, (language, bodies) in enumerate(BODIES.items()):
        kept = list(bodies)
        quota = {one: round(len(bodies) * share) for one, share in HELD_OUT.items()}
        for index in np.random.default_rng([seed, 2, number]).permutation(len(bodies)):
            body = bodies[int(index)]
            others = [one for one in kept if one != body]
            if not format_fields(body) <= frozenset[str]().union(*map(format_fields, others)):
                continue
            for one in ("test", "validation"):
                if len([1 for held, _ in bodies_by_part[one] if held == language]) < quota[one]:
                    bodies_by_part[one].append((language, body))
                    kept = others
                    break
        bodies_by_part["train"] += [(language, body) for body in kept]
    return tuple(bodies_by_part[part])


def sample_pairs(part: Part, count: int, *, seed: int, stream: int = 0) -> list[DatePair]:
    """Random samples of a part.

    English and Spanish are equally likely, digits alone half as likely; the formats of a language are equally likely.

    Args:
        seed: of the split and of the samples. stream: number of an independent draw from the same split, such as an epoch.
    """
    rng = np.random.default_rng([seed, 3, ("train", "validation", "test").index(part), stream])
    days, bodies = days_of(part, seed), bodies_of(part, seed)
    short = days[(days >= TWO_DIGITS_FROM) & (days <= TWO_DIGITS_TO)]
    weights = np.array([{"en": 2.0, "es": 2.0, "numeric": 1.0}[language] for language, _ in bodies])
    weights /= np.array([sum(1 for other, _ in bodies if other == language) for language, _ in bodies])
    picked = rng.choice(len(bodies), count, p=weights / weights.sum())
    pairs = []
    for index in picked:
        language, body = bodies[int(index)]
        pool = short if "{yy}" in body else days
        day = pool[int(rng.integers(len(pool)))]
        leads = LEADS[language]
        lead = "" if rng.random() < 0.4 else leads[int(rng.integers(len(leads)))]
        text = format_date(day, lead + body, language, long_september=bool(rng.random() < 0.3))
        pairs.append(DatePair(text=text, iso=day.isoformat(), body=body, language=language))
    return pairs


def padded(texts: Sequence[str]) -> list[list[int]]:
    """Symbol numbers of normalised texts, padded to the longest."""
    width = max(len(text) for text in texts)
    return [encode_text(text) + [PAD] * (width - len(text)) for text in texts]
