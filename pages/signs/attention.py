"""Attention of IIGA: its four attentions on a clip, the frames behind each gloss, and whether the maps tell the truth."""

from __future__ import annotations

import streamlit as st

from core.figures.attention import NamedMap
from core.signs import gloss_measures
from core.signs.gloss_measures import ClipMeasures
from core.signs.recogniser import Recogniser
from core.signs.recognition import Recognition
from pages.shared import controls, faithfulness_view, map_explorer, url_state
from pages.shared.language import _, number, prose
from pages.shared.map_explorer import Measure
from pages.signs import attention_frames, cached_results, clip_and_model, recognise_attention
from pages.signs.cached_results import Clip


@st.fragment
def body(recogniser: Recogniser, clip: Clip, recognition: Recognition) -> None:
    """Everything below the pickers; a fragment that reruns alone when a map, a gloss or a measure is chosen."""
    with st.spinner(_("Following the attention…"), show_time=True):
        measures = cached_results.measures(recogniser, clip)
    views = {
        "frames": _("Frames behind each gloss"),
        "maps": _("Attention maps"),
        "truth": _("Is it telling the truth?"),
    }
    view = url_state.choice(st.segmented_control, _("View"), views, key="sview", required=True)
    map_shown, rows_shown = None, None
    if view == "maps":
        map_shown = recognise_attention.show(clip, recognition, rolled=measures.rolled)
        _spread(recognition, measures)
    elif not measures.glosses:
        controls.notice(
            "empty",
            _(
                "No gloss is read in this clip: the likeliest label of every frame is the blank, so there is no gloss "
                "to explain. Choose another clip, or look at the attention maps."
            ),
        )
    elif view == "frames":
        rows_shown = attention_frames.show(recogniser, clip, recognition, measures)
    else:
        _truth(recogniser, clip, recognition, measures)
    _take_away(recogniser, clip, recognition, measures, map_shown, rows_shown)


def _truth(recogniser: Recogniser, clip: Clip, recognition: Recognition, measures: ClipMeasures) -> None:
    gloss = measures.glosses[attention_frames.pick_gloss(recogniser, recognition, measures)]
    if attention_frames.too_long(recognition):
        return
    faithfulness_view.show(
        "iiga",
        checkpoint=recogniser.card,
        here=lambda _told: cached_results.curves(recogniser, clip, frame=gloss.peak, label=gloss.label),
        unit=_("frames"),
    )


def _take_away(
    recogniser: Recogniser,
    clip: Clip,
    recognition: Recognition,
    measures: ClipMeasures,
    map_shown: NamedMap | None,
    rows_shown: attention_frames.ShownGlosses | None,
) -> None:
    chosen = attention_frames.chosen(measures)

    def arrays() -> bytes:
        """Made when asked for: integrated gradients and occlusion of the chosen gloss may not have been computed yet."""
        importance = {}
        if chosen is not None and len(recognition.seconds) <= gloss_measures.MAX_FRAMES:
            gloss = measures.glosses[chosen]
            importance = cached_results.evidence(recogniser, clip, frame=gloss.peak, label=gloss.label).importance
        return gloss_measures.to_npz(recognition, measures, recogniser.vocabulary.names, importance, chosen)

    with st.container(horizontal=True):
        controls.download_bytes(
            _("All arrays (.npz)"), arrays, key="signs_npz", filename="signs-attention.npz", mime="application/octet-stream"
        )
        if map_shown is not None:
            map_explorer.download_map(map_shown, keys=recognise_attention.KEYS)
        if rows_shown is not None:
            attention_frames.download(recogniser, recognition, measures, rows_shown)
        clip_and_model.link_to_view()


def _spread(recognition: Recognition, measures: ClipMeasures) -> None:
    """Spread and reach of each sub-layer's attention on the clip."""
    st.header(_("Entropy and distance"), anchor=False)
    names, spreads = recognise_attention.titles(recognition), measures.spreads.values()
    map_explorer.measures(
        [
            Measure(
                key="entropy", title=_("Entropy"), unit=_("nats"),
                values=[one.entropy for one in spreads], even=[one.even_entropy for one in spreads],
            ),
            Measure(
                key="distance", title=_("Mean distance"), unit=_("seconds"),
                values=[one.distance for one in spreads], even=[one.even_distance for one in spreads],
            ),
        ],
        keys=recognise_attention.KEYS, alt=_("{what} by sub-layer."), whose=_("This clip"), counted="",
        names=[names[name] for name in measures.spreads],
    )  # fmt: skip
    st.caption(
        _(
            "Means over all frames and heads. Entropy is 0 where a frame looks at one frame alone. The orange mark is what "
            "looking at all frames alike would give, or for intra-gloss attention at all of its window."
        )
    )


controls.page_header(_("What IIGA looks at"), prose("sign_attention_lead"))
recogniser, clip, recognition = clip_and_model.pick() or (None, None, None)
if recogniser is not None and clip is not None and recognition is not None:
    st.caption(
        _("{title}: {frames} frames of the model, read as **{sentence}**.").format(
            title=clip.title,
            frames=number(len(recognition.seconds)),
            sentence=" ".join(recognition.greedy) or _("nothing"),
        )
    )
    body(recogniser, clip, recognition)
st.markdown(prose("sign_attention_weights"))
with st.expander(_("How to read this page"), icon=":material/menu_book:"):
    st.markdown(prose("sign_attention_reading"))
