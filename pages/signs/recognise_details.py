"""Below the stage, on a press: probabilities through time, and the reading's numbers."""

from typing import Any

import pandas as pd
import streamlit as st

from core.figures import signs as figures
from core.signs import ctc_lab
from core.signs.recogniser import Recogniser
from core.signs.recognition import Recognition
from pages.shared import controls
from pages.shared.language import _, duration, number, percent, size
from pages.shared.live_plot import live_plot
from pages.shared.stat_strip import Stat, stat_strip
from pages.signs import cached_results
from pages.signs.cached_results import Clip

STRIP: int = 14


def through_time(recogniser: Recogniser, clip: Clip, recognition: Recognition) -> None:
    """The probability of each gloss in each frame, and how the best path becomes the sentence."""
    names = recogniser.vocabulary.names
    strip = cached_results.strip(recogniser, clip, STRIP)
    labels = len(figures.labels_shown(recognition.probabilities))
    live_plot(
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


def numbers(recogniser: Recogniser, clip: Clip, recognition: Recognition) -> None:
    """Time of the reading, the model's scores from its card, and the probabilities to take away."""
    parameters = int(recogniser.card["parameters"])
    rate = len(clip.data) / max(recognition.took_s, 1e-9)
    stat_strip(
        [
            Stat(name=_("Frames"), value=number(len(clip.data)), note=_("{fps} a second").format(fps=number(clip.fps))),
            Stat(name=_("Took"), value=duration(recognition.took_s), note=_("{fps} frames a second").format(fps=number(rate))),
            Stat(name=_("Parameters"), value=number(parameters), note=size(4 * parameters)),
        ]
    )
    _card(recogniser)
    names = list(recogniser.vocabulary.names)

    def table() -> pd.DataFrame:
        frame = pd.DataFrame(recognition.probabilities, columns=names)
        frame.insert(0, "second", recognition.seconds)
        frame.insert(1, "likeliest", list(recognition.path))
        return frame

    controls.download_table(_("Probabilities of all frames"), table, key="signs_probabilities", filename="glosses-through-time")


def _card(recogniser: Recogniser) -> None:
    """The model's scores on data it did not learn from, each with what it was measured on."""
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
    if rows:
        st.dataframe(pd.DataFrame(rows), hide_index=True)
    else:
        st.caption(_("The card holds no word error rate."))
    st.caption(_("Trained with `{command}` on {date}.").format(command=card.get("command", "–"), date=card.get("date", "–")))
