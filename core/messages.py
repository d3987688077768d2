"""Sentences that core composes for people, and the one translator they pass through.

Core writes English. An app registers a translator once; figures and errors then come out in its reader's language:

    register(catalogue.gettext)
    raise FeedFailed(compose("{name} is under maintenance", name="Binance"))

`compose` marks its first argument for extraction, as `_` does. Its result is a string that remembers its template and values,
also through an exception's `str(error)`. Formatting or joining it gives a plain string, which can no longer be translated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Translator = Callable[[str], str]


class Message(str):
    """English text, with the template and the values it was made of."""

    __slots__ = ("capital", "template", "values")
    template: str
    values: dict[str, Any]
    capital: bool

    def __str__(self) -> str:
        return self


def compose(template: str, **values: Any) -> Message:
    """The template with its named gaps filled; a value may itself be a message."""
    return _message(template, values, capital=False)


def sentence(clause: str) -> Message:
    """The clause as a sentence: a capital at its beginning, a full stop at its end."""
    return _message("{clause}.", {"clause": clause}, capital=True)


def register(translator: Translator) -> None:
    """Set the function that turns an English source text into the reader's language, for the whole process."""
    global _translator
    _translator = translator


def translate(message: str) -> str:
    """The message in the reader's language; English where no translator is registered.

    A plain string is looked up as it is. A `Message` is looked up by its template, its values likewise, then filled in again.
    """
    if not isinstance(message, Message):
        return _translator(message)
    values = {name: translate(value) if isinstance(value, Message) else value for name, value in message.values.items()}
    text = _translator(message.template).format(**values)
    return text[:1].upper() + text[1:] if message.capital else text


def _source_text(message: str) -> str:
    return message


_translator: Translator = _source_text


def _message(template: str, values: dict[str, Any], *, capital: bool) -> Message:
    text = template.format(**values)
    message = Message(text[:1].upper() + text[1:] if capital else text)
    message.template, message.values, message.capital = template, values, capital
    return message
