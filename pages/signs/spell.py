"""A word spelled letter by letter, to the camera or by recorded hands, and the words of a list that it may be."""

from __future__ import annotations

from html import escape
from typing import Any, Final

import pandas as pd
import streamlit as st

from core import checkpoints
from core.figures import ctc as ctc_figures
from core.figures import hands as hand_figures
from core.figures import signs as figures
from core.figures.strip import address
from core.figures.training import confusion_figure
from core.signs import ctc, ctc_lab, spelling
from core.signs.ctc import CTCError
from core.signs.letters import LETTERS, MOVING
from core.signs.lexicon import MAX_WORDS, spelled
from core.signs.recogniser import LETTERS as MODEL
from core.signs.recognition import Recognition
from pages.shared import controls, url_state
from pages.shared.language import _, current, number, percent, prose
from pages.shared.live_plot import static_plot
from pages.signs import cached_results, live_camera, recognise_attention, sign_strip
from pages.signs.cached_results import Spelling

FIRST: Final = {"en": "HELLO", "es": "AMIGO"}
LANGUAGES: Final = {"en": "English", "es": "Español"}
PAIRS: Final = ("K V", "M N", "U R", "A T", "C O", "G L", "E O", "H K")
"""Letters whose hands are compared side by side."""


def page() -> None:
    """The whole page."""
    controls.page_header(_("Spell a word"), prose("spell_lead"))
    if MODEL not in checkpoints.names("iiga", folder=checkpoints.FOLDER):
        sentence = _("The model that reads letters is not there: whoever runs this server may train it (see the README).")
        controls.notice("empty", sentence)
        return
    left, right = st.columns([3, 2], gap="large")
    with left:
        read = _example()
    with right:
        _camera()
    if read is not None:
        _why(read)
    st.header(_("The letters"), anchor=False)
    sign_strip.show(LETTERS)
    _confusions()
    with st.expander(_("Details"), icon=":material/info:"):
        card = cached_results.shipped(MODEL).card
        left_out = [
            _("{source}, {samples} hands: {letters} of the letters").format(
                source=one["source"], samples=number(one["samples"]), letters=percent(one["letters"])
            )
            for one in card["metrics"].get("left_out", ())
        ]
        st.markdown(prose("spell_details").format(sources=", ".join(card["letters"]), left_out="; ".join(left_out) or "–"))
        st.caption(
            _("{count} parameters. Trained with `{command}`.").format(count=number(card["parameters"]), command=card["command"])
        )
    controls.link_to_view()


# -- a word by recorded hands ----------------------------------------------------------------------------------------------------


def _example() -> Spelling | None:
    """The reader's word, spelled by recorded hands; what was read of it stands first."""
    answer = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        typed = url_state.text(_("A word to spell"), key="word", default=FIRST[current()], max_chars=spelling.MAX_LETTERS)
        variant = url_state.choice(
            st.segmented_control,
            _("Hands of"),
            {"0": "1", "2": "2", "4": "3", "6": "4"},
            key="hands",
            required=True,
            help=_("Other recordings of the same letters, some by other people."),
        )
        language = _language("list")
    word = spelled(typed)
    if not word:
        controls.error_box(
            _("A word of the letters A to Z is right."),
            remedy=_("Accents may be left out; digits and hyphens are not spelled here."),
        )
        return None
    read = cached_results.spell(cached_results.shipped(MODEL), word, variant=int(variant), language=language)
    with answer:
        _answer(read)
    return read


def _answer(read: Spelling) -> None:
    best = read.guesses[0].word if read.guesses else "–"
    st.markdown("## " + _("I read **{word}**").format(word=best))
    letters = "".join(read.recognition.greedy)
    others = " · ".join(f"{guess.word} {percent(guess.probability, 0)}" for guess in read.guesses)
    st.markdown(
        _("Letter by letter: **{letters}**. Words of the list: {words}").format(letters=letters or "–", words=others or "–")
    )
    items = []
    for letter, middle in zip(read.word, read.middles, strict=True):
        drawn = address(hand_figures.hand_svg(read.hands.points[middle, 0]).encode())
        row = read.recognition.probabilities[middle, 1:]
        likeliest = int(row.argmax())
        shown, wrong = LETTERS[likeliest], LETTERS[likeliest] != letter
        alt = escape(_("A recorded hand for {letter}, read as {read}").format(letter=letter, read=shown), quote=True)
        caption = f'<span class="{"wrong" if wrong else ""}">{shown} {percent(float(row[likeliest]), 0)}</span>'
        items.append((letter, f'<img src="{drawn}" alt="{alt}">{caption}'))
    sign_strip.show_items(items)


def _language(key: str) -> str:
    return url_state.choice(st.segmented_control, _("Words"), LANGUAGES, key=key, default=current(), required=True)


# -- the camera ------------------------------------------------------------------------------------------------------------------


def _camera() -> None:
    st.header(_("Spell to the camera"), anchor=False)
    if live_camera.missing():
        return
    own = st.session_state.get("spell:own", "")
    live_camera.show(
        key="spell_live", model="letters", words=st.session_state.get("list", current()), wish={"words": own} if own else None
    )
    with st.popover(_("Words of your own"), icon=":material/list:"):
        st.text_area(
            _("Words, apart by spaces or lines: the camera then reads only these"),
            key="spell:own",
            max_chars=80_000,
            help=_("Up to {count} words of the letters A to Z.").format(count=number(MAX_WORDS)),
        )
    st.caption(
        _(
            "Hold each letter for half a second. Before a doubled letter slide the hand aside, or take it away for a moment; "
            "a longer pause ends the word. Signers draw {moving} in the air: here only the hand's shape is read."
        ).format(moving=" & ".join(MOVING))
    )


# -- why ----------------------------------------------------------------------------------------------------


def _why(read: Spelling) -> None:
    """Probabilities through time, the trellis of the answer, and attention."""
    st.header(_("Letters through time"), anchor=False)
    recognition, clip = read.recognition, read.clip
    strip = cached_results.strip(clip, 14)
    shown = len(figures.labels_shown(recognition.probabilities))
    names = cached_results.shipped(MODEL).vocabulary.names
    static_plot(
        figures.clip_figure(recognition.probabilities, names, recognition.seconds, strip=strip, keep=clip.key),
        key="spell_clip",
        height=figures.clip_height(shown, strip=True),
        filename="letters-through-time",
        alt=_("The probability of each letter in each frame, with the hands above."),
    )
    if read.guesses:
        _trellis(read, names)
    st.header(_("What attention looks at"), anchor=False)
    recognise_attention.show(clip, recognition)
    controls.download_table(
        _("Probabilities of all frames"),
        lambda: _table(recognition, names),
        key="spell_probabilities",
        filename="letters-through-time",
    )


def _trellis(read: Spelling, names: tuple[str, ...]) -> None:
    word = read.guesses[0].word
    try:
        problem = ctc_lab.of_clip(read.recognition.log_probabilities, names, list(word))
        lattice = problem.lattice()
    except (ValueError, CTCError):
        return
    st.header(_("How {word} lies in these frames").format(word=word), anchor=False)
    figure = ctc_figures.trellis_figure(lattice, problem.names, best=ctc.best_path(lattice).states, keep=read.clip.key)
    static_plot(
        figure,
        key="spell_trellis",
        height=int(figure.layout.height),
        filename="trellis",
        alt=_("The trellis of the word: a column of states a frame, the likeliest path over it."),
    )


def _table(recognition: Recognition, names: tuple[str, ...]) -> pd.DataFrame:
    frame = pd.DataFrame(recognition.probabilities, columns=list(names))
    frame.insert(0, "second", recognition.seconds)
    return frame


# -- confusions ----------------------------------------------------------------------------------------------------


def _confusions() -> None:
    """Letters that are taken for each other, from the card, and two of them side by side."""
    card: dict[str, Any] = cached_results.shipped(MODEL).card
    table = card["metrics"].get("confusions")
    if not table:
        return
    st.header(_("Taken for each other"), anchor=False)
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.caption(prose("spell_confusions").format(letters=percent(table["letters"], 0), samples=number(table["samples"])))
        figure = confusion_figure(table["counts"], LETTERS)
        alt = _("Share of each letter's hands that were read as each letter.")
        static_plot(figure, key="spell_confusions", height=560, filename="letters-confused", alt=alt)
    with right:
        pairs = {one: one.replace(" ", " / ") for one in PAIRS}
        pair = url_state.choice(st.segmented_control, _("Two hands side by side"), pairs, key="pair", required=True)
        sign_strip.show(pair.split())


page()
