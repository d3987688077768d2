"""Sentences for people that core composes: English text which remembers its parts, so that a page can say it in another language.

    raise FeedFailed(say("{name} is under maintenance", name="Binance"))

`say` marks its first argument for extraction. What it returns is a string, and stays one of these through an exception's
`str(error)`; formatting or joining it makes a plain string of it, which no page can translate any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Translate = Callable[[str], str]


class Said(str):
    """English text, with the template and the values that it was made of."""

    __slots__ = ("capital", "template", "values")
    template: str
    values: dict[str, Any]
    capital: bool

    def __str__(self) -> str:
        return self


def say(template: str, **values: Any) -> Said:
    """The template with its named gaps filled; a value may have been said itself."""
    return _said(template, values, capital=False)


def sentence(clause: str) -> Said:
    """A clause as a sentence: a capital at its beginning, a full stop at its end."""
    return _said("{clause}.", {"clause": clause}, capital=True)


def told(message: str, translate: Translate) -> str:
    """The message in the translator's language; a plain string comes back as it is."""
    if not isinstance(message, Said):
        return message
    parts = {name: told(value, translate) if isinstance(value, Said) else value for name, value in message.values.items()}
    text = translate(message.template).format(**parts)
    return text[:1].upper() + text[1:] if message.capital else text


def untranslated(message: str) -> str:
    """The English source text as it is: for figures drawn by one who brings no translator."""
    return message


def _said(template: str, values: dict[str, Any], *, capital: bool) -> Said:
    text = template.format(**values)
    said = Said(text[:1].upper() + text[1:] if capital else text)
    said.template, said.values, said.capital = template, values, capital
    return said
