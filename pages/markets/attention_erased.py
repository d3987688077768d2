"""Moments of a window that the reader rubs out of the stage, and what the model calls without them."""

from __future__ import annotations

from typing import Final

import streamlit as st

from core.explain.attribution import GradientError
from core.market.windows import FrozenWindow
from core.models.tlob import CLASSES
from pages.markets import attention_inputs, cached_results
from pages.markets.attention_inputs import Explained
from pages.markets.cached_results import WindowAnswer
from pages.markets.class_names import class_names
from pages.shared import controls, erased, faithfulness_view
from pages.shared.language import _, ngettext, number, percent

RUBBED_OUT: Final = "hide_moments"


def draw(window: FrozenWindow, answered: WindowAnswer, explained: Explained, hidden: list[int]) -> None:
    """The call without the moments that are rubbed out, and how many other ways need until it changes; nothing without any."""
    if not hidden:
        return
    head, before = explained.head, answered.likeliest[explained.head]
    probabilities = cached_results.without_moments(window, tuple(hidden))[head].tolist()
    now = max(range(len(probabilities)), key=probabilities.__getitem__)
    said, table = st.columns([3, 2], gap="medium")
    with said:
        st.markdown(sentence(answered, head, now, probabilities, len(hidden)))
        st.caption(_("In place of a moment that is rubbed out the model reads every input's mean over this window."))
        erased.bring_back(RUBBED_OUT)
    with table, controls.progress(_("Asking what random, attention and occlusion need…")) as report:
        try:
            needed = cached_results.needed(window, head, before, report=report)
        except GradientError:
            attention_inputs.no_gradients()
            return
        title = _("**Moments until the call changes**, of {count}").format(count=number(len(window)))
        names = faithfulness_view.method_names()
        erased.needed_table(title, needed, names, count=len(hidden), changed=now != before, key=RUBBED_OUT)


def sentence(answered: WindowAnswer, head: int, call: int, probabilities: list[float], count: int) -> str:
    """The change of the call in words."""
    called, names = answered.likeliest[head], class_names()
    before, after = float(answered.probabilities[head][called]), probabilities[called]
    if call == called:
        line = ngettext(
            "Without {count} moment the call is still **{name}**: {before} before, {after} now.",
            "Without {count} moments the call is still **{name}**: {before} before, {after} now.",
            count,
        )
    else:
        line = ngettext(
            "Without {count} moment the call is **{other}**: {name} has {after} instead of {before}.",
            "Without {count} moments the call is **{other}**: {name} has {after} instead of {before}.",
            count,
        )
    return line.format(
        count=number(count), name=names[CLASSES[called]], other=names[CLASSES[call]], before=percent(before), after=percent(after)
    )
