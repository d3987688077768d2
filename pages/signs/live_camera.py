"""The live camera of the sign pages: its component, and the words that it says."""

from __future__ import annotations

from typing import Any

from core.signs.hands import model_files
from pages.shared import assets, camera_route, controls
from pages.shared.browser_component import browser_component, style
from pages.shared.language import _, current, regional
from pages.signs import live_route

Options = dict[str, Any] | None


def missing() -> bool:
    """Tells whether the models that find hands are not there, after saying so."""
    if not model_files.available():
        controls.notice(
            "empty",
            _(
                "The two models that find hands are not set up here: whoever runs this server may fetch them (see the README). "
                "Everything else works without them."
            ),
        )
    return not model_files.available()


def show(
    *, key: str, model: str, words: str = "en", wish: dict[str, Any] | None = None, game: dict[str, Any] | None = None
) -> None:
    """The camera.

    Args:
        model: "hands" or "letters". words: language of the list that letters are read by. wish: told to the app's reader.
        game: `signs` that are asked for, `of` how many (0 for without end), and a number of the `round`.
    """
    data = {
        "address": f"{live_route.PATH}?lang={current()}&model={model}&words={words}",
        "camera": assets.script("live_camera.js"),
        "language": regional(),
        "words": camera_route.words() | _words(spells=model == "letters"),
        "wish": wish,
        "game": game,
    }
    browser_component("live_signs", style("live_signs.css"))(key=key, data=data)


def _words(*, spells: bool) -> dict[str, Any]:
    return {
        "answer": _("I read: {glosses}"),
        "nothing": _("Nothing read yet: hold a letter for about half a second.")
        if spells
        else _("Nothing read yet: hold a sign for about half a second."),
        "noHand": _("No hand is seen, so nothing is read."),
        "now": _("Now: {gloss} ({share} %)"),
        "between": _("A hand is seen, and no letter that I know.") if spells else _("A hand is seen, and no sign that I know."),
        "attention": _("What the newest picture attends to: the last seconds, the newest at the right."),
        "show": _("Show me: {sign}"),
        "right": _("Right: {sign}"),
        "streak": _("{streak} in a row"),
        "finished": _("All {of} shown. Well done."),
        "differs": _("Another shape: {fingers}"),
        "alike": _("The hand is as in the example: hold it."),
        "fingers": [_("thumb"), _("index finger"), _("middle finger"), _("ring finger"), _("little finger")],
    }
