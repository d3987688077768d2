"""Sentences that keep their parts: through exceptions, inside one another, and into another language."""

from __future__ import annotations

from core.words import Said, say, sentence, told

SPANISH = {
    "{reason}; trying again in {seconds:.0f} s": "{reason}; se vuelve a intentar en {seconds:.0f} s",
    "{name} is under maintenance": "{name} está en mantenimiento",
}


def spanish(message: str) -> str:
    return SPANISH.get(message, message)


def test_english_is_what_it_reads() -> None:
    assert say("{name} has {count:.1f} of {what!r}", name="A", count=2, what="b") == "A has 2.0 of 'b'"
    assert sentence(say("it is {state}", state="late")) == "It is late."


def test_a_sentence_within_a_sentence_is_translated_whole() -> None:
    said = sentence(
        say("{reason}; trying again in {seconds:.0f} s", reason=say("{name} is under maintenance", name="Kraken"), seconds=4)
    )
    assert said == "Kraken is under maintenance; trying again in 4 s."
    assert told(said, spanish) == "Kraken está en mantenimiento; se vuelve a intentar en 4 s."


def test_it_comes_out_of_an_exception_as_it_went_in() -> None:
    error = ValueError(say("{name} is under maintenance", name="OKX"))
    assert isinstance(str(error), Said)
    assert told(str(error), spanish) == "OKX está en mantenimiento"


def test_a_plain_string_is_left_alone() -> None:
    assert told("as it is", spanish) == "as it is"
