"""The film with what was read of it moving along: landmarks, glosses and attention, frame by frame."""

from __future__ import annotations

import base64

from core.figures import film
from core.signs.recognition import Recognition
from pages.shared.browser_component import browser_component
from pages.shared.language import _, regional
from pages.signs import cached_results
from pages.signs.cached_results import Clip


def show(clip: Clip, recognition: Recognition, *, playing: bool = False) -> None:
    """The player; only for films.

    Args:
        playing: whether it plays by itself, over and over, unless the reader asked for less motion.
    """
    pictures = [base64.b64encode(jpeg).decode() for jpeg in cached_results.film_pictures(clip)]
    data = {
        "key": clip.key,
        "playing": playing,
        "fps": clip.fps,
        "frames": [f"data:image/jpeg;base64,{picture}" for picture in pictures],
        "seconds": [float(second) for second in recognition.seconds],
        "glosses": [list(span) for span in recognition.spans],
        "hands": film.hands_of_frames(recognition.hands, clip.data.shape[1]) if recognition.hands is not None else [],
        "attention": base64.b64encode(film.attention_bytes(recognition.attention)).decode(),
        "language": regional(),
        "words": {
            "play": _("Play"),
            "pause": _("Pause"),
            "place": _("Place in the film"),
            "nothing": _("Nothing read yet."),
            "at": _("{second} s"),
            "attention": _("What this picture attends to, over the whole film; the grey bar is the picture itself."),
        },
    }
    browser_component("film_player")(key="film_player", data=data)
