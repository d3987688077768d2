"""Light on a window of the book: every attention map of TLOB, and which of its inputs moved the answer."""

from dataclasses import replace
from functools import partial
from typing import Final

import streamlit as st

from core.checkpoints import CheckpointError
from core.explain.attribution import GradientError, Report
from core.explain.erasing import Needed
from core.market.windows import FrozenWindow, WindowError
from core.models.tlob import CLASSES
from pages.markets import attention_inputs, attention_scene, attention_window, cached_results
from pages.markets.attention_window import WindowSource
from pages.markets.cached_results import WindowAnswer
from pages.markets.class_names import class_names, unknown_market
from pages.shared import controls, erased
from pages.shared.attention_view import attention_view, stage_place
from pages.shared.erased import ErasedAnswer
from pages.shared.faithfulness_view import draw_faithfulness, method_names
from pages.shared.language import _, prose
from pages.shared.load_ahead import load_ahead

RUBBED_OUT: Final = "hide_moments"


def answer_of(window: FrozenWindow) -> WindowAnswer | None:
    """The model's answer for a window; None, after an error box, where it has none."""
    try:
        return cached_results.answer(window)
    except (WindowError, CheckpointError) as problem:
        controls.error_box(problem, remedy=_("Choose another source or another model."))
        return None


def change(window: FrozenWindow, whole: WindowAnswer, rest: WindowAnswer, head: int, hidden: tuple[int, ...]) -> ErasedAnswer:
    """The call without the moments that are rubbed out, beside that on the whole window."""
    called, names = whole.likeliest[head], class_names()
    return ErasedAnswer(
        key=RUBBED_OUT,
        hidden=hidden,
        count=len(window),
        before=names[CLASSES[called]],
        after=names[CLASSES[rest.likeliest[head]]],
        shares=(float(whole.probabilities[head][called]), float(rest.probabilities[head][called])),
        instead=_("In place of what is rubbed out the model reads every input's mean over this window."),
        orders=method_names(),
    )


def needed(window: FrozenWindow, answered: WindowAnswer, head: int, report: Report) -> Needed | None:
    """Moments that other ways take until the call changes; None, after an error box, without gradients."""
    try:
        return cached_results.needed(window, head, answered.likeliest[head], report=report)
    except GradientError as error:
        controls.error_box(error, remedy=_("Choose another source or another model."))
        return None


def draw(source: WindowSource) -> None:
    """The window of a source: its answer, its light, and what lies behind both."""
    line, stage = st.container(key="light_answer").empty(), stage_place()
    window = attention_window.current(source)
    answered = answer_of(window) if window else None
    if window is None or answered is None:
        return
    load_ahead(cached_results.predictor_of, cached_results.model_names())
    explained = attention_inputs.pick(answered)
    hidden = tuple(erased.rubbed_out(RUBBED_OUT, len(window), of=window.id))
    rest = cached_results.answer(window, hidden) if hidden else answered
    scene = attention_scene.scene_of(window, rest, explained, hidden)
    line.markdown(f"**{scene.answer}**")
    without = change(window, answered, rest, explained.head, hidden)
    with stage:
        attention_view(replace(scene, corner=without.corner()), key="light", erased=hidden, on_erase=erased.keeper(RUBBED_OUT))
        if hidden:
            without.draw(partial(needed, window, answered, explained.head))
    unknown_market(answered.entry, window.predictor)
    card = answered.predictor.card
    views: controls.Views = {
        "reading": (_("How to read this page"), partial(st.markdown, prose("attention_weights", "attention_reading"))),
        "inputs": (_("Inputs one by one"), partial(attention_inputs.details, window, answered, explained)),
        "truth": (_("Is it telling the truth?"), partial(draw_faithfulness, "tlob", card=card, unit=_("moments"))),
    }
    controls.below(views, key="view")
    note = _("Whoever has this link can open it while the app runs: of each visitor the newest few.")
    controls.link_to_view(note if source.kind == "frozen" else "")


heading, picker = st.columns([3, 2], vertical_alignment="center")
with heading:
    controls.page_header(_("What TLOB looks at"))
with picker:
    try:
        picked = attention_window.pick_source()
    except CheckpointError as error:
        controls.no_checkpoint(error)
        st.stop()
if picked is None:
    st.stop()
st.fragment(draw)(picked)
