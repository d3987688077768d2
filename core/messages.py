"""Sentences that core composes for people, and the translator that they pass through.

Core writes English. An app registers a translator once, and figures and errors are then in its reader's language:

    register(catalogue.gettext)
    raise FeedFailed("{name} is under maintenance", name="Binance")

`compose` marks its first argument for extraction, as `_` does, and so does each `Refusal`, which composes its text. The result is
a string that keeps its template and values, also through an exception's `str(error)`. Formatting or joining it gives a plain
string, which can no longer be translated.
"""

from collections.abc import Callable
from numbers import Real
from string import Formatter
from typing import Any

Translator = Callable[[str], str]


class Message(str):
    """English text that keeps its template and its values."""

    __slots__ = ("capital", "template", "values")
    template: str
    values: dict[str, Any]
    capital: bool

    def __str__(self) -> str:
        return self


def compose(template: str, **values: Any) -> Message:
    """The template with its named gaps filled. A value may itself be a message, or an exception, which counts as its text."""
    texts = {name: str(value) if isinstance(value, BaseException) else value for name, value in values.items()}
    return _message(template, texts, capital=False)


def N_(message: str) -> str:
    """Mark a constant for extraction (gettext's own name for it); it is translated where it is shown."""
    return message


class Refusal(Exception):
    """An error for a person.

    Args:
        text: its sentence, or with `values` a template of one, as `compose` has it; a literal, which is extracted.
    """

    def __init__(self, text: str = "", **values: Any) -> None:
        composed = isinstance(text, Message) or (not values and "{" in text)  # the second: a text of somebody else's
        super().__init__(text if composed else compose(text, **values))


class BadValue(Refusal, ValueError):
    """A value that cannot be used; the message says why and what would be right."""


def first_line(error: BaseException) -> str:
    """The first line of what an error of a library says, of the system without the path; its kind where it says nothing."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).splitlines() or [type(error).__name__])[0]


def sentence(clause: str) -> Message:
    """The clause as a sentence: a capital at its beginning, a full stop at its end."""
    return _message("{clause}.", {"clause": clause}, capital=True)


def packed(message: str) -> Any:
    """A message as JSON, with its template, so that another process's reader sees it in a language of their own."""
    if not isinstance(message, Message):
        return str(message)
    values = {k: packed(v) if isinstance(v, str) else v for k, v in message.values.items()}
    return {"template": message.template, "values": values, "capital": message.capital}


def unpacked(value: Any) -> str:
    """The inverse of `packed`."""
    if isinstance(value, str):
        return value
    values = {name: unpacked(one) if isinstance(one, (dict, str)) else one for name, one in value["values"].items()}
    return _message(value["template"], values, capital=bool(value["capital"]))


def register(translator: Translator, numbers: Translator | None = None) -> None:
    """Set the functions that turn English into the reader's language, for the whole process.

    Args:
        translator: of a source text. numbers: of a number as English writes it ("1,234.5"); None leaves numbers as they are.
    """
    global _translator, _numbers
    _translator, _numbers = translator, numbers or _source_text


def translate(message: str, *, value: Translator | None = None) -> str:
    """The message in the reader's language; English where no translator is registered.

    A plain string is looked up as it is. A `Message` is looked up by its template, its values likewise, then filled in again.

    Args:
        value: what becomes of each text among the values that is not a message itself, such as a file's name.
    """
    if not isinstance(message, Message):
        return _translator(message)
    values = {
        name: _Translated(translate(one, value=value)) if isinstance(one, Message) else one
        for name, one in message.values.items()
    }
    text = _Formatter(value).format(_translator(message.template), **values)
    return text[:1].upper() + text[1:] if message.capital else text


def _source_text(message: str) -> str:
    return message


class _Translated(str):
    """A value that was a message."""

    __slots__ = ()


class _Formatter(Formatter):
    """`str.format` that writes numbers with a format, such as `{seconds:.1f}`, as the reader's language does.

    Args:
        value: what becomes of each text that was no message.
    """

    def __init__(self, value: Translator | None) -> None:
        self._value = value

    def format_field(self, value: Any, format_spec: str) -> str:
        text = str(format(value, format_spec))
        if self._value is not None and isinstance(value, str) and not isinstance(value, _Translated):
            return self._value(text)
        return _numbers(text) if format_spec and isinstance(value, Real) else text


_translator: Translator = _source_text
_numbers: Translator = _source_text


def _message(template: str, values: dict[str, Any], *, capital: bool) -> Message:
    text = template.format(**values)
    message = Message(text[:1].upper() + text[1:] if capital else text)
    message.template, message.values, message.capital = template, values, capital
    return message
