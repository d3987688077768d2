"""The encoder-decoder Transformer at work: a date as somebody wrote it, read symbol by symbol into ISO."""

from __future__ import annotations

import streamlit as st

from core import checkpoints
from core.checkpoints import CheckpointError
from core.lecture.date_reader import ReadingError
from pages.learn import cached_results as answers
from pages.learn import frame, transformer_how, transformer_parts
from pages.learn.text_field import typed
from pages.shared import controls
from pages.shared.language import _

PAGE = "transformer"
EXAMPLES = ("3 de mayo de 1979", "sábado 3 mayo 1979", "May the 3rd, 1979", "03/04/1979", "Thu 3-may-79")

part = frame.open_page(
    PAGE,
    _("Encoder and decoder"),
    parts={
        "decode": _("Token by token"),
        "beam": _("Greedy and beam"),
        "nonsense": _("Nonsense"),
        "layer": _("Inside a layer"),
        "card": _("How it was trained"),
    },
)

try:
    reader = answers.reader(str(checkpoints.FOLDER))
except CheckpointError as problem:
    controls.error_box(str(problem), remedy=_("Train it: python -m core train dates."))
    st.stop()

text = EXAMPLES[0]
if part != "card":
    with frame.controls_block("text"):
        text = typed(_("A date, in English or Spanish"), key="date", default=EXAMPLES[0], examples=EXAMPLES, max_chars=80)
    try:
        reading = answers.read(str(checkpoints.FOLDER), text)
    except ReadingError as problem:
        controls.error_box(str(problem), remedy=_("Type a date of at most 64 characters."))
        st.stop()
    if controls.presenting():
        st.markdown(f"### {text}")
    transformer_parts.answer(reading)
    {
        "decode": transformer_parts.decode,
        "beam": transformer_parts.beam,
        "nonsense": transformer_parts.nonsense,
        "layer": transformer_how.layer,
    }[part](reader, reading)
else:
    transformer_how.card(reader)

frame.close_page(
    PAGE,
    sources=_("vit-report sections 2.1 to 2.6, 2.8 and 2.9; Vaswani et al. 2017; D12, D20, D23"),
    values={"TEXT": text},
)
