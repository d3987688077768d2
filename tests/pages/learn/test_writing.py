"""Words, the network that writes: its page without the weights, and with them as a link opens it."""

from pathlib import Path
from typing import Any

import pytest
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.explain.attribution import Report
from core.words.causes import OPENINGS, fall_without_heads
from core.words.desk import lit_scene
from core.words.writer import Writer
from core.words.writer_files import WRITER_FILES
from pages.learn import writing
from tests.pages.open_page import open_page, words

PAGE = Path(__file__).parents[3] / "pages" / "learn" / "sentences.py"
NEEDED = pytest.mark.skipif(not WRITER_FILES.available(), reason="needs `make writer`")


def test_without_the_weights_a_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("core.words.desk.Writer", lambda: Writer(tmp_path))
    monkeypatch.setattr(writing.DESK, "_writer", None)
    assert "run `make writer` once" in words(open_page(PAGE, network="writes"))


@NEEDED
def test_a_link_opens_what_was_written_with_the_heads_that_are_off() -> None:
    app = open_page(PAGE, network="writes", prompt="The capital of France is", wrote="7042.30", off="171.16", lang="es")
    assert not app.error and app.session_state["wrote"] == ["7042", "30"] and app.session_state["off"] == ["16", "171"]
    assert "La primera pieza recibe" in words(app) and "HuggingFaceTB" in words(app)


@NEEDED
def test_a_link_of_nonsense_opens_the_text_alone() -> None:
    app = open_page(PAGE, network="writes", wrote="-1.x.99999999", off="270.a", t="nan", p="7", seed="-3")
    assert not app.error and app.session_state["wrote"] == [] and app.session_state["off"] == []


@NEEDED
def test_a_text_of_too_many_pieces_is_refused() -> None:
    app = open_page(PAGE, network="writes", prompt="a " * 900)
    assert "more than 200 pieces of words" in app.error[0].value


@NEEDED
def test_counting_heads_ends_with_the_tab(monkeypatch: pytest.MonkeyPatch) -> None:
    layers: list[float] = []

    def in_a_tab_that_goes(*given: Any, report: Report, **more: Any) -> Any:
        def reported(share: float) -> None:
            layers.append(share)
            run = get_script_run_ctx()
            assert run is not None and run.script_requests is not None
            run.script_requests.request_stop()  # as the server does where a tab's connection ends
            report(share)

        return fall_without_heads(*given, report=reported, **more)

    monkeypatch.setattr(writing.head_falls_of, "_compute", in_a_tab_that_goes)
    page = open_page(PAGE, network="writes", prompt="The capital of France is")
    next(one for one in page.button if one.key == "writer_count").click().run()
    assert len(layers) == 1


@NEEDED
@pytest.mark.parametrize(("rubbed", "left"), [("0.1", range(2, 20)), (".".join(map(str, range(20))), range(20))])
def test_the_light_is_of_the_word_that_stands_first_by_the_tokens_and_heads_that_are_left(
    monkeypatch: pytest.MonkeyPatch, rubbed: str, left: range
) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(writing, "lit_scene", lambda *given, **more: drawn.append(given) or lit_scene(*given, **more))
    off = [(18, 6), (17, 3), (17, 4), (23, 2), (23, 7), (18, 7)]  # without which “bl” is not the likeliest any more
    page = open_page(PAGE, network="writes", prompt=OPENINGS[1], rub=rubbed, off=".".join(str(9 * one + two) for one, two in off))
    assert not page.error and not page.exception
    writer, ids, kept, state, falls = drawn[-1]
    assert (len(ids), kept) == (20, list(left))
    token, rest = int(state.scores.argmax()), [ids[i] for i in left]
    assert token != int(writer.begin(rest).scores.argmax())
    fall = float(state.scores[token] - writer.begin(rest[1:], off=off).scores[token])
    assert falls[0] == pytest.approx(fall, abs=2e-3)
