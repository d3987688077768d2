"""The front page: what there is to do, each with an answer of the model that does it, and what is true of the models today.

No feed runs for a visitor here: the answers were computed beforehand (`core.front`), and the browser moves them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, Final

import streamlit as st

from core import front
from core.figures import front as figures
from core.lecture.equations import equations
from core.messages import Refusal
from core.vision.gallery import photograph_gallery
from pages.images import sample_pictures
from pages.images.named_garments import garment_words
from pages.shared import assets, camera_switch, controls
from pages.shared.browser_component import clipboard
from pages.shared.language import _, current, number, percent, regional, significant
from pages.shared.navigation import ENTRIES

PLAYED: Final = 4
"""Times as fast as it happened the market is shown."""
GARMENTS: Final = "pages/images/classify.py"
SEE: Final = "pages/images/see.py"
SAMPLES: Final = (("photos", 13), ("photos", 10), ("photos", 4))
"""Photographs to press: the first is the one answered beforehand."""
GIVEN, FILMING = "front:given", "front:filming"
"""Session keys: the picture's file that was given last, or the place of a bundled photograph; and whether the camera stands in
its place."""


def main() -> None:
    """The name, a picture asked for with its answer, three tiles, and a row of scores."""
    with st.container(key="front"):
        st.title(_("Attention Observatory"), anchor=False)
        with st.container(key="front_lead"):
            st.markdown(
                _("Attention models think in the open, on markets, clothes and signs: touch them, and check every number.")
            )
        with st.container(key="front_ask", border=True):
            _ask()
        with st.container(key="front_tiles"):
            _tiles()
        st.header(_("What is true today"), anchor=False)
        with st.container(key="front_scores"):
            _scores()
    st.html(
        f"<script>{assets.imported('home.js')}.then((home) => home.start());</script>",
        unsafe_allow_javascript=True,
    )


def _tiles() -> None:
    tiles: Sequence[tuple[str, str, str, Callable[[], str]]] = (
        ("pages/markets/live.py", _("Watch a market"), ":material/candlestick_chart:", _market),
        ("pages/signs/recognise.py", _("Sign a number"), ":material/sign_language:", _signs),
        ("pages/learn/course.py", _("Open the lecture"), ":material/school:", _lecture),
    )
    for place, (page, title, icon, picture) in enumerate(tiles):
        with st.container(key=f"front_tile_{place}", border=True):
            st.page_link(page, label=f"**{title}**", icon=icon)
            st.html(picture())


def _tile(kind: str, picture: str, answer: str, note: str, **moving: Any) -> str:
    """A picture with its answer and a line under it, and what the script needs to move it."""
    data = escape(json.dumps(moving | {"kind": kind, "language": regional()}, ensure_ascii=False), quote=True)
    return (
        f'<div class="front" data-front="{data}"><div class="front-picture front-{kind}">{picture}</div>'
        f'<p class="front-answer">{answer}</p><p class="front-note">{note}</p></div>'
    )


def _market() -> str:
    shown = front.answers()["market"]
    calls, truths, momentum = shown["calls"], shown["truths"], shown["momentum"]
    called = _("{call} in {time}")
    time = f"{significant(shown['horizon'] * shown['step_ms'] / 1000)} s"
    answers = [called.format(call=name, time=time) for name in (f"▼ {_('Down')}", f"■ {_('Stationary')}", f"▲ {_('Up')}")]
    known = [at for at, truth in enumerate(truths) if truth >= 0]
    right = sum(calls[at] == truths[at] for at in known)
    following = sum(momentum[at] == truths[at] for at in known)
    score = _("Right so far: {share} of {count} calls. Following the last move: {other}.")
    now = score.format(share=percent(right / len(known), 0), count=number(len(known)), other=percent(following / len(known), 0))
    played = escape(_("A recording, {times} times as fast").format(times=number(PLAYED)))
    return _tile(
        "market",
        figures.market_picture(shown["mids"], calls, truths, called=escape(_("called")), came=escape(_("came"))),
        escape(answers[calls[-1]]),
        f'{escape(now)} <span class="front-small">{played}</span>',
        calls=calls,
        truths=truths,
        momentum=momentum,
        horizon=shown["horizon"],
        every_ms=shown["step_ms"] / PLAYED,
        answers=answers,
        score=score,
    )


def _ask() -> None:
    """A picture of the visitor's own, or the camera's, answered in place; until it comes, one of the app's."""
    state = st.session_state

    def give(given: bytes | int | None) -> None:
        state[GIVEN], state[FILMING] = given, None

    title = _("Show me any photograph")
    st.page_link(SEE, label=f"**{title}**", icon=":material/visibility:")
    with st.container(horizontal=True, vertical_alignment="center", key="front_given"):
        clipboard("front_picture", give)
        camera_switch.switch(FILMING, key="front_camera")
    if state.get(FILMING):
        _film(give)
    else:
        _asked(state.get(GIVEN))
    with st.container(horizontal=True, key="front_samples"):
        given = SAMPLES[0][1] if state.get(GIVEN) is None else state[GIVEN]
        chosen = None if state.get(FILMING) or isinstance(given, bytes) else ("photos", given)
        sample_pictures.buttons(SAMPLES, key="front_sample", chosen=chosen, on_press=lambda _kind, item: give(item))


def _film(give: Callable[[bytes], None]) -> None:
    """The camera in the picture's place; what is taken with it is given."""
    from pages.images import live_camera  # torch, which the page does without until somebody gives a picture

    with st.container(key="garments_stage"):
        taken = live_camera.sight_camera(key="front_live", start=camera_switch.begins(FILMING))
    if taken is not None:
        give(taken)
        st.rerun()


def _asked(given: bytes | int | None) -> None:
    """The answer on a picture's file or on a bundled photograph; the one computed beforehand where nothing was given."""
    shown, query = front.answers()["photograph"], {}
    if given not in (None, shown["photo"]):
        from pages.images import cached_sight  # torch

        data = photograph_gallery()[given].data if isinstance(given, int) else given
        try:
            kept, found = cached_sight.answer_of(data)
        except Refusal as error:
            controls.error_box(error)
            return
        if found is None:
            controls.notice(
                "empty",
                _("There is nothing to see in this picture: it has one shade throughout, or is transparent. Give another one."),
            )
            return
        shown, query = found, {"from": "upload", "set": kept}
    if isinstance(given, int) or not query:
        query = {"photo": str(shown["photo"] if given is None else given)}
    st.html(_photograph(shown))
    with st.container(horizontal=True, key="front_further"):
        st.page_link(GARMENTS, label=_("Fool it"), icon=":material/ink_eraser:", query_params=query | {"inside": "hide"})
        st.page_link(SEE, label=_("What does it see?"), icon=":material/visibility:", query_params=query)
        st.page_link(GARMENTS, label=_("Why?"), icon=":material/lightbulb:", query_params=query)


def _photograph(shown: Mapping[str, Any]) -> str:
    """The picture lit by what stands out in it: how much does, and which garment it is, where it is one."""
    stands_out, (name, share) = shown["stands_out"], shown["named"][0]
    lit = "" if stands_out is None else _("{share} of the picture stands out").format(share=percent(stands_out, 0))
    if shown["garment"]:
        answer, note = garment_words(shown["named"], 0), lit
    else:
        answer = lit or _("No garment that I know")
        note = _("None of the ten garments I know; the nearest is {name}, {share}.").format(name=_(name), share=percent(share, 0))
    return _tile(
        "photograph",
        figures.photograph_picture(
            shown["picture"],
            proportion=shown["proportion"],
            box=shown["box"],
            says=_("A photograph, dark where nothing stands out."),
        ),
        escape(answer),
        escape(note),
    )


def _signs() -> str:
    shown = front.answers()["signs"]
    glosses = "".join(f"<span>{escape(frame['gloss'])}</span> " for frame in shown["frames"])
    return _tile(
        "signs",
        figures.signs_picture(shown["frames"], says=_("Pictures of hands that sign, with the hands that were found drawn.")),
        f'<span class="front-glosses">{glosses}</span>',
        escape(_("Read from the points of the hand, sign after sign.")),
    )


def _lecture() -> str:
    shown = front.answers()["lecture"][current()]
    words, last = shown["words"], len(shown["temperatures"]) - 1
    middle = last // 2
    label = escape(_("Temperature of the attention"), quote=True)
    dial = f'<input type="range" min="0" max="{last}" value="{middle}" aria-label="{label}">'
    return _tile(
        "lecture",
        figures.weights_picture(words, shown["weights"][middle], says=_("Attention weights of each word to every word.")),
        f'<span class="front-dial">{dial}<output>{significant(shown["temperatures"][middle], 2)}</output></span>',
        escape(_("Turn the temperature: cold, each word looks at one other; hot, at all alike.")),
        weights=shown["weights"],
        temperatures=shown["temperatures"],
    )


def _scores() -> None:
    """Scores of the cards, each a link to where it is checked, with what it was measured on."""
    scores = front.scores()
    shown: Sequence[tuple[str, str, str, str, dict[str, str]]] = (
        (
            "pages/markets/live.py",
            number(scores.tlob, 2),
            _(
                "Matthews correlation of TLOB's calls 12.5 seconds ahead; gradient-boosted trees {trees}, the last move {other}"
            ).format(trees=number(front.TREES, 2), other=number(scores.momentum, 2)),
            _("Mean over three markets on data that the model did not learn from: 0 guesses, 1 is always right."),
            {},
        ),
        (
            "pages/images/classify.py",
            percent(scores.photographs, 0),
            _("of {count} photographs of clothes named rightly").format(count=number(scores.photographs_count)),
            _("Photographs of ten kinds that the model did not learn from."),
            {"inside": "training"},
        ),
        (
            "pages/signs/recognise.py",
            percent(scores.word_errors, 0),
            _("word errors in {count} sentences of real signers").format(count=number(scores.sentences)),
            _("Test sentences of RWTH-BOSTON-104"),
            {"input": "tracks", "sview": "numbers"},
        ),
        (
            "pages/learn/equations.py",
            number(len(equations())),
            _("equations of five documents, each with the test that checks it"),
            _("Where each is in the code, what its test compares with, and the page that shows it."),
            {},
        ),
    )
    titles = {entry.file: _(entry.title) for entry in ENTRIES}
    for place, (page, value, words, measured, query) in enumerate(shown):
        with st.container(key=f"front_score_{place}", border=True):
            st.page_link(page, label=f"**{value}** {words}", help=measured, query_params=query)
            st.caption(_("Checked at: {page}").format(page=titles[page]))


main()
