"""Frames of a clip that the reader rubs out of the stage, and what is read without them."""

from __future__ import annotations

from typing import Final

import streamlit as st

from core.signs.recogniser import Recogniser
from core.signs.recognition import Recognition
from pages.shared import controls, erased
from pages.shared.language import _, ngettext, number
from pages.signs import cached_results
from pages.signs.cached_results import Clip

RUBBED_OUT: Final = "hide_frames"


def draw(recogniser: Recogniser, clip: Clip, recognition: Recognition, hidden: list[int]) -> None:
    """The glosses without the frames that are rubbed out, and how many other ways need; nothing without any."""
    if not hidden:
        return
    left = cached_results.without_frames(recogniser, clip, tuple(hidden))
    said, table = st.columns([3, 2], gap="medium")
    with said:
        st.markdown(sentence(recognition.greedy, left, len(hidden)))
        st.caption(_("In place of a frame that is rubbed out the model reads the mean of the clip's frames."))
        erased.bring_back(RUBBED_OUT)
    with table, controls.progress(_("Asking what random orders and the maps need…")) as report:
        needed = cached_results.needed(recogniser, clip, report=report)
        names = {"counted": _("By what lights the stage"), "attention": _("By attention")}
        title = _("**Frames until other glosses are read**, of {count}").format(count=number(len(recognition.seconds)))
        changed = left != recognition.greedy
        erased.needed_table(title, needed, names, count=len(hidden), changed=changed, key=RUBBED_OUT)


def sentence(before: tuple[str, ...], after: tuple[str, ...], count: int) -> str:
    """The change of the glosses in words."""
    nothing = _("nothing")
    old, new = (f"**{' '.join(glosses)}**" if glosses else nothing for glosses in (before, after))
    if before == after:
        line = ngettext("Without {count} frame it still reads {old}.", "Without {count} frames it still reads {old}.", count)
    else:
        line = ngettext(
            "Without {count} frame it reads {new} instead of {old}.",
            "Without {count} frames it reads {new} instead of {old}.",
            count,
        )
    return line.format(count=number(count), old=old, new=new)
