"""A page with a line broken says so, its claims fail by themselves, and it is whole again for the next reader."""

from __future__ import annotations

from core.lecture.breaks import BREAKS
from pages.shared.navigation import ENTRIES, ROOT
from tests.pages.open_page import open_page, ran, words

PAGE = ROOT / "pages" / "learn" / "attention_steps.py"


def test_a_broken_line_shows_on_the_page_and_is_mended() -> None:
    app = open_page(PAGE, part="heads", **{"break": "root", "lang": "en"})
    said = words(app)
    assert "Broken on purpose: The root of d_k is missing" in said and "core/nn/attention.py:" in said
    assert "**A of head 1**: 36 of 36 numbers moved" in said
    assert "✗ Largest difference from torch.nn.MultiheadAttention" in said  # the page's own check notices
    assert any("test_every_step_follows" in one.value for one in app.code)
    app.pills(key="break").set_value("none")
    assert "Broken on purpose" not in words(ran(app))


def test_a_break_that_needs_another_dial_says_which() -> None:
    said = words(open_page(PAGE, part="softmax", **{"break": "late_mask", "lang": "en"}))
    assert "Nothing moves at these dials" in said and "mask=causal" in said
    said = words(open_page(PAGE, part="softmax", mask="causal", **{"break": "late_mask", "lang": "es"}))
    assert "Roto a propósito" in said and "No se mueve nada" not in said


def test_a_broken_network_answers_otherwise_and_the_shipped_one_stays() -> None:
    page = ROOT / "pages" / "learn" / "transformer.py"
    said = words(open_page(page, **{"break": "no_places", "lang": "en"}))
    assert "- So far: `199793-099`" in said and "This answer is that of the code as it is" in said
    assert "So far: `1979-05-03`" in words(open_page(page, lang="en"))


def test_every_break_is_of_a_part_that_there_is() -> None:
    for one in BREAKS:
        entry = next(entry for entry in ENTRIES if entry.url == one.url)
        source = (ROOT / "pages" / entry.file.removeprefix("pages/")).read_text(encoding="utf-8")
        assert all(f'"{part}"' in source for part in one.parts), one.code
        assert all(f'key="{dial}"' in source for dial in one.shows), one.code
