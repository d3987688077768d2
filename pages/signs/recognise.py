"""Signs: a clip on the stage, lit by what counted for each gloss, or the camera in its place; what lies behind on a press."""

from dataclasses import replace
from functools import partial
from html import escape
from typing import Any, Final

import streamlit as st

from core import checkpoints
from core.checkpoints import CheckpointError
from core.messages import translate
from core.signs.live_reading import MIN_PROBABILITY
from core.signs.recogniser import HANDS, Recogniser
from core.signs.recognition import Recognition
from core.signs.vocabulary import in_order
from pages.shared import controls, erased, url_state
from pages.shared.attention_view import attention_view, stage_place
from pages.shared.erased import ErasedAnswer
from pages.shared.faithfulness_view import draw_faithfulness
from pages.shared.language import _, duration, number, percent, prose
from pages.signs import (
    cached_results,
    clip_and_model,
    clip_source,
    live_camera,
    recognise_details,
    recognise_stage,
    sign_strip,
)
from pages.signs.cached_results import Clip

RUBBED_OUT: Final = "hide_frames"
FILE: Final = "signs:file"
"""Session key: the id of the visitor's file, None for a bundled clip, and how many others came before it."""


def page() -> None:
    """The whole page."""
    try:
        asked = clip_and_model.ask()
    except CheckpointError as error:
        controls.error_box(error, remedy=_("Choose another source or another model."))
        return
    recogniser = asked.recogniser
    if asked.source == clip_and_model.CAMERA:
        camera()
        return
    if recogniser is None:
        controls.notice("empty", _("There is no such model here: whoever runs this server may train one (see the README)."))
        return
    line, rooms = st.container(key="signs_line"), (st.empty(), st.empty())
    before, count = st.session_state.get(FILE, (None, 0))
    given = asked.file and asked.file.file_id
    count += given != before
    st.session_state[FILE] = given, count
    room = rooms[count % 2]  # the one where another file's film was is empty at once
    if asked.clip or asked.file or clip_source.FILE in st.query_params:
        with room:  # a film takes a while to be read
            place = stage_place()
    with line:  # progress and errors stand in it, then the answer
        clip = asked.clip or clip_source.own(asked.file, recogniser)
        recognition = clip_and_model.read(recogniser, clip) if clip else None
    if clip is None or recognition is None:
        room.empty()
    else:
        stage(recogniser, clip, recognition, line=line, place=place)
    below(recogniser, clip, recognition)


# -- what it says ------------------------------------------------------------------------------------------------------------


def stage(recogniser: Recogniser, clip: Clip, recognition: Recognition, *, line: Any, place: Any) -> None:
    """The answer in its line, the film under its light in its place, and what was read of the file."""
    frames = len(recognition.seconds)
    hidden = tuple(erased.rubbed_out(RUBBED_OUT, frames, of=f"{recogniser.name} {clip.key}"))
    rest = cached_results.rest_of(recogniser, clip, hidden) if hidden else recognition
    without = ErasedAnswer(
        key=RUBBED_OUT,
        hidden=hidden,
        count=frames,
        before=" ".join(recognition.greedy),
        after=" ".join(rest.greedy),
        shares=None,
        instead=_("In place of what is rubbed out the model reads the mean of the clip's frames."),
        orders={"counted": _("By what lights the stage"), "attention": _("By attention")},
    )
    with line:
        answer = sentence(recogniser, clip, rest)
    with place:
        scene = recognise_stage.scene_of(recogniser, clip, rest, hidden, answer=answer)
        attention_view(replace(scene, corner=without.corner()), key="light", erased=hidden, on_erase=erased.keeper(RUBBED_OUT))
        if hidden:
            without.draw(lambda report: cached_results.needed(recogniser, clip, report=report))
    for warning in clip.warnings:
        controls.notice("stale", warning)
    st.caption(f"**{controls.plain(clip.title)}**. {clip.note} {doubts(recogniser, recognition)}")


def sentence(recogniser: Recogniser, clip: Clip, recognition: Recognition) -> str:
    """Draw the glosses, each with its probability, and who read them; the glosses as text."""
    if reason := recognition.without_gloss:
        controls.notice("empty", translate(reason))
    else:
        words = " ".join(
            f"<b>{escape(recognition.names[one.label])}</b> <small>{percent(one.probability)}</small>"
            for one in recognition.glosses
        )
        model = f"{clip_and_model.model_title(recogniser.name)}, {controls.computed_on(recogniser)}"
        who = f"{model}, {duration(recognition.took_s)}"
        st.html(f'<p class="signs-answer">{words} <span>{escape(who)}</span></p>')
    return " ".join(recognition.greedy) or clip.title


def doubts(recogniser: Recogniser, recognition: Recognition) -> str:
    """Says which glosses were left out as too unsure, and by which rule."""
    unsure = ", ".join(f"`{gloss}` ({percent(probability, 0)})" for gloss, probability in recognition.doubtful)
    if not unsure:
        return ""
    if recogniser.min_frames > 1:
        return _("Left out: {glosses}. A gloss counts where it is the likeliest in {count} frames in a row.").format(
            glosses=unsure, count=number(recogniser.min_frames)
        )
    return _("Left out as too unsure: {glosses}. A gloss counts where its surest frame gives it {least} or more.").format(
        glosses=unsure, least=percent(recogniser.least_probability, 0)
    )


# -- what lies behind it -----------------------------------------------------------------------------------------------------


def below(recogniser: Recogniser, clip: Clip | None, recognition: Recognition | None) -> None:
    """One view at a time, and the link; without a clip there is only what to read."""
    if clip is None or recognition is None:
        reading(recogniser)
        return
    views: controls.Views = {
        "reading": (_("How to read this page"), partial(reading, recogniser)),
        "time": (_("Probabilities through time"), partial(recognise_details.through_time, recogniser, clip, recognition)),
        "truth": (_("Is it telling the truth?"), partial(draw_faithfulness, "iiga", card=recogniser.card, unit=_("frames"))),
        "numbers": (_("Numbers"), partial(recognise_details.numbers, recogniser, clip, recognition)),
    }
    controls.below(views, key="sview")
    controls.link_to_view(keeps=clip_source.FILE)


def reading(recogniser: Recogniser) -> None:
    """Text on reading the page, and the glosses that the model knows."""
    glosses = in_order(recogniser.vocabulary.glosses)
    st.markdown(prose("recognise_reading"))
    words = _("**It knows {count} glosses**, and reads any other sign as one of these, or as nothing:").format(count=len(glosses))
    st.markdown(f"{words} " + " · ".join(f"`{gloss}`" for gloss in glosses))


# -- the camera --------------------------------------------------------------------------------------------------------------


def camera() -> None:
    """The camera in the stage's place, and beside it the signs to copy."""
    if HANDS not in checkpoints.names("iiga", folder=checkpoints.FOLDER):
        controls.notice("empty", _("There is no such model here: whoever runs this server may train one (see the README)."))
        return
    if live_camera.missing():
        return
    recogniser = cached_results.shipped(HANDS)
    signs = in_order(recogniser.vocabulary.glosses)
    picture, copied = st.columns([1.7, 1])
    with copied, st.container(key="signs_copied"):
        modes = {"read": _("Read my signs"), "ask": _("Show me a …")}
        mode = url_state.choice(st.segmented_control, _("What the camera does"), modes, key="mode")
        st.caption(_("All {count} signs that it knows, as in a mirror").format(count=len(signs)))
        sign_strip.draw_sign_strip(signs)
    with picture, st.container(key="signs_stage"):
        start = bool(st.session_state.pop(clip_and_model.STARTED, False))
        live_camera.sign_camera(key="live_signs", start=start, asked=signs if mode == "ask" else ())
    st.caption(
        _(
            "Where it is computed: your browser sends small pictures to this app, a few a second, and the app finds the hands in "
            "them. No picture is stored or sent any further, and each is forgotten once it is read."
        )
    )
    least = max(MIN_PROBABILITY, recogniser.least_probability)
    st.markdown(prose("live_signs_lead"))
    st.markdown(prose("live_signs_details").format(least=percent(least, 0)))
    controls.link_to_view(keeps=clip_source.FILE)


page()
