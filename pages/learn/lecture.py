"""The lecture of 45 minutes on a projector's stage: its nine stops' views, sent once; keys and address are the browser's."""

from dataclasses import replace
from typing import Any, Final

import streamlit as st

from core.lecture.stops import Frame, pieces_of, stops
from core.messages import BadValue, Message, compose, sentence, translate
from core.package_files import MissingModels
from core.words.desk import DESK
from core.workers import Stopped
from pages.shared.browser_component import browser_component
from pages.shared.language import _, current, prose_section, regional
from pages.shared.permissions import visitor

PAGE: Final = "learn_course"
STOP: Final = "stop"
"""URL parameter: the view, such as "3.2"; of the stop alone its first."""
TEXT: Final = "text"
"""URL parameter: a text of the reader's, which the second stop takes apart."""
TYPED: Final = "lecture:text"
MAX_CHARACTERS: Final = 60
MAX_PIECES: Final = 16


def stage() -> None:
    """Draws the stage, over the whole screen."""
    words = {
        "on": _("On, key Space"),
        "back": _("Back, key Page up"),
        "up": _("Turn the dial, key →"),
        "down": _("Turn the dial, key ←"),
        "leave": _("Leave, key Esc"),
        "own": _("Your own text"),
        "hands": _("{right} of {count} hands said so."),
    }
    data = {"views": views(), "words": words, "locale": regional(), "most": MAX_CHARACTERS}
    browser_component("lecture")(key="lecture", data=data, on_text_change=take_text)


def take_text() -> None:
    """The reader typed a text: the browser has put it into the address."""
    value = st.session_state["lecture"].get("text")
    st.session_state[TYPED] = value if isinstance(value, str) else ""


def own_pieces(text: str) -> Frame:
    """The reader's text in the writer's pieces, or why there are none."""
    try:
        with DESK.writer(visitor().limited_by) as writer:
            return pieces_of([(writer.names[one], one) for one in writer.ids(text[:MAX_CHARACTERS], most=MAX_PIECES)])
    except Stopped:
        reason = compose("Too many texts wait here already: try again later.")
    except (MissingModels, BadValue) as error:
        reason = sentence(str(error))
    return Frame(reason, [{"tokens": [], "below": []}])


def views() -> list[dict[str, Any]]:
    """All views in the reader's language, in their order."""
    made = []
    of = stops(current())
    if own := str(st.session_state.get(TYPED, st.query_params.get(TEXT, ""))).strip():
        words = of["vectors"][0]
        of["vectors"][0] = replace(words, frames=[*words.frames, own_pieces(own)], values=[*words.values, own[:MAX_CHARACTERS]])
    for number, (code, of_stop) in enumerate(of.items(), start=1):
        for at, view in enumerate(of_stop, start=1):
            question, _line, notes = prose_section(PAGE, f"{code}_{at}").partition("\n\n")
            made.append(
                {
                    "at": f"{number}.{at}",
                    "title": prose_section(PAGE, f"{code}_title"),
                    "question": question,
                    "notes": notes,
                    "dial": in_words(view.dial),
                    "values": in_words(view.values),
                    "first": view.first,
                    "asks": view.asks,
                    "panels": in_words(view.panels),
                    "frames": [{"sentence": translate(one.sentence), "panels": in_words(one.panels)} for one in view.frames],
                }
            )
    return made


def in_words(value: Any) -> Any:
    """The same with every message in the reader's language; what a network reads and writes stays."""
    if isinstance(value, dict):
        return {name: in_words(one) for name, one in value.items()}
    if isinstance(value, list | tuple | range):
        return [in_words(one) for one in value]
    return translate(value) if isinstance(value, Message) else value
