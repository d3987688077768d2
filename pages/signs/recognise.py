"""IIGA's reading of a clip: glosses frame by frame and as a sentence, its attention, and its error rate."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from core import usage
from core.figures import signs as figures
from core.signs import ctc_lab, metrics
from core.signs.recogniser import Recogniser
from core.signs.recognition import Recognition
from core.signs.vocabulary import in_order
from pages.shared import controls, url_state
from pages.shared.language import _, duration, ngettext, number, percent, prose, size
from pages.shared.live_plot import static_plot
from pages.shared.stat_strip import Stat, stat_strip
from pages.signs import cached_results, clip_and_model, film_player, recognise_attention, recognise_tracks
from pages.signs.alignment import alignment_table, error_stats
from pages.signs.cached_results import Clip


def page() -> None:
    """The whole page."""
    controls.page_header(_("Recognise signs"), prose("recognise_lead"))
    picked = clip_and_model.pick()
    if picked is None:
        return
    recogniser, clip, recognition = picked
    if clip is not None and recognition is not None:
        _show(recogniser, clip, recognition)
    _vocabulary(recogniser)
    _card(recogniser)
    with st.expander(_("How to read this page"), icon=":material/menu_book:"):
        st.markdown(prose("recognise_reading"))
    clip_and_model.link_to_view()


# -- what it says ------------------------------------------------------------------------------------------------------------


def _show(recogniser: Recogniser, clip: Clip, recognition: Recognition) -> None:
    guesses = _sentences(recogniser, clip, recognition)
    if clip.kind == "tracks":
        recognise_tracks.show(clip)
    _through_time(recogniser, clip, recognition)
    _scores(clip, recognition, guesses)
    st.header(_("What attention looks at"), anchor=False)
    recognise_attention.show(clip, recognition)
    st.page_link(
        "pages/signs/attention.py",
        label=_("Look inside: the frames behind each gloss"),
        icon=":material/frame_inspect:",
        help=_("Opens this clip on the page that asks what each gloss rests on, and whether the maps tell the truth."),
        query_params=clip_and_model.link(),
    )
    _downloads(recogniser, recognition)


def _sentences(recogniser: Recogniser, clip: Clip, recognition: Recognition) -> dict[str, tuple[str, ...]]:
    """The answer in one sentence, the film that plays along, and under Details what it cost and both decodings; returns these."""
    st.header(_("Read from {title}").format(title=f"`{clip.title.replace('`', ' ')}`"), anchor=False)
    _answer(clip, recognition)
    if clip.kind == "frames":
        film_player.show(clip, recognition)
    _doubts(recogniser, clip, recognition)
    parameters = int(recogniser.card["parameters"])
    rate = len(clip.data) / max(recognition.took_s, 1e-9)
    with st.expander(_("Details"), icon=":material/info:"):
        stat_strip(
            [
                Stat(name=_("Frames"), value=number(len(clip.data)), note=_("{fps} a second").format(fps=number(clip.fps))),
                Stat(
                    name=_("Took"), value=duration(recognition.took_s), note=_("{rate} frames a second").format(rate=number(rate))
                ),
                Stat(name=_("Memory"), value=size(usage.process_usage().memory), note=_("of the whole app")),
                Stat(name=_("Parameters"), value=number(parameters), note=size(4 * parameters)),
            ]
        )
        return _decodings(recogniser, clip, recognition)


def _answer(clip: Clip, recognition: Recognition) -> None:
    """One sentence that a visitor knows the words of."""
    if recognition.hands is not None and not recognition.hands.visible.any():
        controls.notice("empty", _("No hand is seen in this film, so nothing is read. Show the whole hand, well lit."))
    elif recognition.greedy:
        glosses = " ".join(recognition.greedy)
        sentence = ngettext("I read one sign: **{glosses}**", "I read {count} signs: **{glosses}**", len(recognition.greedy))
        st.markdown("## " + sentence.format(count=number(len(recognition.greedy)), glosses=glosses))
    elif clip.kind == "frames":
        controls.notice("empty", _("No hand sign is seen in this clip: it gets no gloss."))


def _decodings(recogniser: Recogniser, clip: Clip, recognition: Recognition) -> dict[str, tuple[str, ...]]:
    """Greedy decoding and beam search beside what was signed."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        width = url_state.slider(_("Width of the beam"), 1, 64, key="beams", default=16, width=260)
        power = url_state.slider(
            _("Power of the frames' probabilities"),
            1.0,
            4.0,
            key="power",
            default=recogniser.beam_power,
            step=0.5,
            width=260,
            help=_(
                "The beam adds up all alignments of a sentence, so a small probability counts once for every frame where a gloss "
                "could stand: at a power of 1, forty frames of an empty wall are read as a digit. A higher power sharpens each "
                "frame first; the default was chosen on validation."
            ),
        )
    beam = cached_results.beam(recogniser, clip, width=width, power=power)
    first = beam[0].glosses if beam else ()
    signed, greedy, beamed = st.columns(3)
    with signed:
        _sentence(_("Signed"), clip.glosses, clip.note or _("No reference is known: type one below to compare."))
    with greedy:
        _sentence(_("Greedy"), recognition.greedy, _("The answer: the likeliest label of each frame, collapsed."))
    with beamed:
        note = _("P(sentence) = {share} over the paths that the beam kept.")
        _sentence(_("Beam"), first, note.format(share=percent(beam[0].probability)) if beam else "")
    if len(beam) > 1:
        st.markdown(_("The beam's best sentences"))
        rows = [
            {_("Sentence"): " ".join(guess.glosses) or "–", _("P(sentence)"): percent(guess.probability, 2)} for guess in beam
        ]
        st.dataframe(pd.DataFrame(rows), hide_index=True)
    return {"greedy": recognition.greedy, "beam": first}


def _doubts(recogniser: Recogniser, clip: Clip, recognition: Recognition) -> None:
    least = percent(recogniser.least_probability, 0)
    unsure = ", ".join(f"`{gloss}` ({percent(probability, 0)})" for gloss, probability in recognition.doubtful)
    if unsure:
        st.caption(
            _("Left out as too unsure: {glosses}. A gloss counts where its surest frame gives it {least} or more.").format(
                glosses=unsure, least=least
            )
        )


def _sentence(name: str, glosses: tuple[str, ...] | None, note: str) -> None:
    with st.container(border=True):
        st.caption(name)
        shown = _("unknown") if glosses is None else " ".join(glosses) or _("nothing")
        st.markdown(f"**{shown}**")
        st.caption(note)


def _through_time(recogniser: Recogniser, clip: Clip, recognition: Recognition) -> None:
    st.header(_("Glosses through time"), anchor=False)
    names = recogniser.vocabulary.names
    strip = cached_results.strip(clip, 14)
    labels = len(figures.labels_shown(recognition.probabilities))
    static_plot(
        figures.clip_figure(recognition.probabilities, names, recognition.seconds, strip=strip, keep=clip.key),
        key="signs_clip",
        height=figures.clip_height(labels, strip=bool(strip)),
        filename="glosses-through-time",
        alt=_("The probability of each gloss in each frame, with the frames of the clip above."),
    )
    merged, sentence = ctc_lab.collapsed(recognition.path)
    st.markdown(_("**Best path**, a label a frame:") + " " + " ".join(f"`{name}`" for name in recognition.path))
    st.markdown(
        _("Repeats merged: {merged} · blanks removed: {sentence}").format(
            merged=" ".join(f"`{name}`" for name in merged), sentence=" ".join(f"`{name}`" for name in sentence) or "–"
        )
    )


# -- how right it is -----------------------------------------------------------------------------------------------------------


def _scores(clip: Clip, recognition: Recognition, guesses: dict[str, tuple[str, ...]]) -> None:
    st.header(_("Compared with what was signed"), anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        typed = url_state.text(
            _("Reference: glosses apart by spaces"),
            key="truth",
            placeholder=" ".join(clip.glosses or ()),
            help=_("Left empty, the bundled clip's own is taken."),
        )
        which = url_state.choice(
            st.segmented_control, _("Sentence"), {"greedy": _("Greedy"), "beam": _("Beam")}, key="which", required=True
        )
    reference = tuple(typed.split()) or clip.glosses
    if reference is None:
        controls.notice("empty", _("Type what was signed to get the error rate and its alignment."))
        return
    hypothesis = guesses[which]
    errors = metrics.word_errors([reference], [hypothesis])
    stat_strip(error_stats(errors))
    alignment_table(errors.alignments[0], reference, hypothesis, key="signs_alignment")


# -- what it knows -------------------------------------------------------------------------------------------------------------


def _vocabulary(recogniser: Recogniser) -> None:
    glosses = in_order(recogniser.vocabulary.glosses)
    with st.expander(_("What it can recognise: {count} glosses").format(count=number(len(glosses))), icon=":material/list:"):
        st.caption(_("Any other sign is read as one of these, or as nothing."))
        st.markdown(" · ".join(f"`{gloss}`" for gloss in glosses))


def _card(recogniser: Recogniser) -> None:
    """The model's scores on data it did not learn from, each with what it was measured on."""
    if (box := controls.opened(_("Scores of this model, from its card"), icon=":material/badge:", key="signs_card")) is None:
        return
    card: dict[str, Any] = recogniser.card
    scores = card.get("metrics", {})
    names = {
        "dev": _("Dev signers: 500 synthetic sentences of real photos"),
        "dev_hard": _("Dev signers: 100 synthetic sentences of real photos, as varied as training"),
        "test": _("Test sentences of RWTH-BOSTON-104"),
    }
    rows = [
        {_("Measured on"): text, _("Sentences"): number(scores[part]["sentences"]), "WER": percent(scores[part]["wer"])}
        for part, text in names.items()
        if isinstance(scores.get(part), dict) and "wer" in scores[part]
    ]
    unseen = scores.get("test", {}).get("wer_unseen") if isinstance(scores.get("test"), dict) else None
    if unseen is not None:
        rows.append(
            {
                _("Measured on"): _("those of them that do not occur in training"),
                _("Sentences"): number(scores["test"]["unseen_sentences"]),
                "WER": percent(unseen),
            }
        )
    with box:
        if rows:
            st.dataframe(pd.DataFrame(rows), hide_index=True)
        else:
            st.caption(_("The card holds no word error rate."))
        st.caption(_("Trained with `{command}` on {date}.").format(command=card.get("command", "–"), date=card.get("date", "–")))


def _downloads(recogniser: Recogniser, recognition: Recognition) -> None:
    names = list(recogniser.vocabulary.names)

    def table() -> pd.DataFrame:
        frame = pd.DataFrame(recognition.probabilities, columns=names)
        frame.insert(0, "second", recognition.seconds)
        frame.insert(1, "likeliest", list(recognition.path))
        return frame

    controls.download_table(_("Probabilities of all frames"), table, key="signs_probabilities", filename="glosses-through-time")


page()
