"""The lecture's stage: what is sent to the browser, in the reader's language, and the reader's own text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from core.lecture.stops import Frame, stops
from core.package_files import MissingModels
from core.words.desk import DESK
from core.words.writer import writer
from core.words.writer_files import WRITER_FILES
from core.workers import Stopped
from pages.learn import lecture
from pages.shared.language import prose_section, speaking


def test_sentences_are_the_readers_and_tokens_the_networks() -> None:
    with speaking("es"):
        shown = {one["at"]: one for one in lecture.views()}
        question = prose_section(lecture.PAGE, "heads_2")
    assert question.startswith(shown["5.2"]["question"]) and question.endswith(shown["5.2"]["notes"])
    tokens = stops("es")["heads"][1].panels[0]["tokens"]
    assert shown["5.2"]["panels"][0]["tokens"] == list(tokens) and " en" in tokens
    assert shown["5.2"]["dial"] == "Cabeza" and shown["5.2"]["values"][1] == "copia lo que siguió al mismo token"
    assert all("\u00a0%" in frame["sentence"] for frame in shown["9.2"]["frames"])
    assert all(frame["sentence"] != str(stops("es")["works"][1].frames[0].sentence) for frame in shown["9.2"]["frames"])


def own(monkeypatch: pytest.MonkeyPatch, text: str, *, problem: Exception | None = None) -> Frame:
    """The reader's text apart, by the network; or what is said of a problem."""

    @contextmanager
    def lent(_by: str) -> Iterator[Any]:
        if problem is not None:
            raise problem
        yield writer()

    monkeypatch.setattr(DESK, "writer", lent)
    monkeypatch.setattr(lecture, "visitor", lambda: SimpleNamespace(limited_by="somebody"))
    return lecture.own_pieces(text)


@pytest.mark.skipif(not WRITER_FILES.available(), reason="needs `make writer`")
def test_a_text_of_the_readers_falls_into_the_writers_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, ids = own(monkeypatch, "Przybylski"), writer().tokenizer.encode("Przybylski").ids
    assert list(frame.panels[0]["below"]) == ids and f"{len(ids)} pieces" in frame.sentence
    many = own(monkeypatch, "1 2 3 4 5 6 7 8 9 a b c d")
    assert f"more than {lecture.MAX_PIECES} pieces" in many.sentence and not many.panels[0]["tokens"]


def test_a_network_that_is_missing_or_busy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert own(monkeypatch, "cat", problem=MissingModels("the files are not there")).sentence == "The files are not there."
    assert "Too many texts wait" in own(monkeypatch, "cat", problem=Stopped("busy")).sentence
