"""Sentences that keep their parts: through exceptions, inside one another, and into another language."""

import pytest

from core import messages
from core.messages import Message, compose, sentence, translate

SPANISH = {
    "{reason}; trying again in {seconds:.0f} s": "{reason}; se vuelve a intentar en {seconds:.0f} s",
    "{name} is under maintenance": "{name} está en mantenimiento",
}


@pytest.fixture(autouse=True)
def spanish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "_translator", lambda message: SPANISH.get(message, message))
    monkeypatch.setattr(messages, "_numbers", lambda text: text.translate({ord("."): ",", ord(","): "."}))


def test_english_is_what_it_reads() -> None:
    assert compose("{name} has {count:.1f} of {what!r}", name="A", count=2, what="b") == "A has 2.0 of 'b'"
    assert sentence(compose("it is {state}", state="late")) == "It is late."


def test_a_sentence_within_a_sentence_is_translated_whole() -> None:
    reason = compose("{name} is under maintenance", name="Kraken")
    said = sentence(compose("{reason}; trying again in {seconds:.0f} s", reason=reason, seconds=4))
    assert said == "Kraken is under maintenance; trying again in 4 s."
    assert translate(said) == "Kraken está en mantenimiento; se vuelve a intentar en 4 s."


def test_it_comes_out_of_an_exception_as_it_went_in_and_an_exception_counts_as_its_text() -> None:
    error = ValueError(compose("{name} is under maintenance", name="OKX"))
    assert isinstance(str(error), Message)
    assert translate(str(error)) == "OKX está en mantenimiento"
    assert translate(compose("failed: {reason}", reason=error)) == "failed: OKX está en mantenimiento"


def test_numbers_with_a_format_are_written_as_the_reader_does() -> None:
    said = compose("{size:,} of {share:.1f} %, row {row}", size=12345, share=0.5, row=1.5)
    assert said == "12,345 of 0.5 %, row 1.5"
    assert translate(said) == "12.345 of 0,5 %, row 1.5"


def test_a_plain_string_is_left_to_the_one_translator_that_is_registered() -> None:
    assert translate("as it is") == "as it is"
    messages.register(str.upper)
    assert translate("as it is") == "AS IT IS"
