"""The lecture of 45 minutes on a projector's stage: its nine stops' views, sent once; keys and address are the browser's."""

from __future__ import annotations

from typing import Any, Final

from core.lecture.stops import stops
from core.messages import Message, translate
from pages.shared.browser_component import browser_component
from pages.shared.language import _, current, prose_section, regional

PAGE: Final = "learn_course"
STOP: Final = "stop"
"""URL parameter: the view, such as "3.2"; of the stop alone its first."""


def stage() -> None:
    """Draws the stage, over the whole screen."""
    words = {
        "on": _("On, key Space"),
        "back": _("Back, key Page up"),
        "up": _("Turn the dial, key →"),
        "down": _("Turn the dial, key ←"),
        "leave": _("Leave, key Esc"),
    }
    browser_component("lecture")(key="lecture", data={"views": views(), "words": words, "locale": regional()})


def views() -> list[dict[str, Any]]:
    """All views in the reader's language, in their order."""
    made = []
    for number, (code, of_stop) in enumerate(stops(current()).items(), start=1):
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
