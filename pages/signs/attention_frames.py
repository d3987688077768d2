"""The frames behind each gloss: a heatmap of all glosses by one measure, bars for one of them, and its strongest frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
import streamlit as st

from core.figures import frames as figures
from core.signs import gloss_measures
from core.signs.decoding import GlossSpan
from core.signs.gloss_measures import ASKED, RELEVANCE, ROLLOUT, ClipMeasures, StrongestFrames
from core.signs.recogniser import Recogniser
from core.signs.recognition import Recognition
from pages.shared import controls, faithfulness_view, url_state
from pages.shared.language import _, ngettext, number, percent, significant
from pages.shared.live_plot import Point, live_plot
from pages.signs import cached_results
from pages.signs.cached_results import Clip
from pages.signs.recognise_attention import titles

GLOSS: Final = "gloss"
"""Key of the chosen gloss, counted from 1."""
STRIP: Final = 12
THUMB_PX: Final = 148


@dataclass(frozen=True, kw_only=True)
class ShownGlosses:
    """The heatmap on the page: the measure's code and its rows, (glosses, T'), NaN where not computed."""

    measure: str
    rows: Any


def show(recogniser: Recogniser, clip: Clip, recognition: Recognition, measures: ClipMeasures) -> ShownGlosses:
    """The view; returns the heatmap that it shows."""
    options = _measures(recognition, asked=not too_long(recognition))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = pick_gloss(recogniser, recognition, measures)
        measure = url_state.choice(
            st.selectbox, _("Measure"), options, key="measure", default=RELEVANCE, width=340, help=_meanings()
        )
    rows = _rows(recogniser, clip, measures, measure, chosen)
    gloss, names = measures.glosses[chosen], recogniser.vocabulary.names
    strongest = gloss_measures.strongest_frames(rows[chosen], gloss)

    def choose(point: Point) -> None:
        if point.y is not None:
            st.session_state[GLOSS] = str(min(max(round(float(point.y)), 0), len(measures.glosses) - 1) + 1)

    live_plot(
        figures.glosses_figure(
            rows, measures.glosses, names, recognition.seconds, chosen=chosen, measure=_unit(measure),
            strip=cached_results.strip(clip, STRIP),
            keep=f"{clip.key}:{measure}",
        ),
        key="signs_glosses",
        height=figures.glosses_height(len(measures.glosses)),
        on_click=choose,
        filename=f"frames-behind-glosses-{measure}".replace(" ", "-"),
        alt=_("Glosses by frames: how much each frame counts for each gloss; a click chooses a gloss."),
    )  # fmt: skip
    if measure in ASKED and len(measures.glosses) > 1:
        st.caption(_("Computed for the chosen gloss alone. Click on another row for that one."))
    st.header(names[gloss.label], anchor=False)
    st.markdown(_sentence(gloss, names[gloss.label], recognition, measure, strongest, rows[chosen]))
    live_plot(
        figures.gloss_figure(
            rows[chosen], gloss, recognition.seconds, counted=strongest.frames, measure=_unit(measure),
            left=figures.left_px([names[one.label] for one in measures.glosses]), keep=f"{clip.key}:{measure}",
        ),
        key="signs_gloss",
        height=280,
        filename="frames-behind-a-gloss",
        alt=_("How much each frame counts for the chosen gloss, a bar a frame; its own frames and its surest one are marked."),
    )  # fmt: skip
    _pictures(recogniser, clip, gloss, recognition, measure, strongest, rows[chosen])
    return ShownGlosses(measure=measure, rows=rows)


# -- the choices ---------------------------------------------------------------------------------------------------------------


def pick_gloss(recogniser: Recogniser, recognition: Recognition, measures: ClipMeasures) -> int:
    """Asks for a gloss of the best path, as an index."""
    names, seconds = recogniser.vocabulary.names, recognition.seconds
    span = _("{gloss} · {first} to {last} s")
    options = {
        str(place): span.format(
            gloss=names[one.label],
            first=number(float(seconds[one.first]), 2),
            last=number(float(seconds[one.last]), 2),
        )
        for place, one in enumerate(measures.glosses, start=1)
    }
    return int(url_state.choice(st.selectbox, _("Gloss (or click one)"), options, key=GLOSS, width=280)) - 1


def chosen(measures: ClipMeasures) -> int | None:
    """The gloss that is or was chosen, as an index; the first one where none was, None in a clip without any."""
    if not measures.glosses:
        return None
    code = st.session_state.get(GLOSS) or st.query_params.get(GLOSS)
    return url_state.whole_number(code, 1, len(measures.glosses), 1) - 1


def too_long(recognition: Recognition) -> bool:
    """Tells whether the clip is too long to be asked about frame by frame; if so, that is said."""
    frames = len(recognition.seconds)
    if frames <= gloss_measures.MAX_FRAMES:
        return False
    controls.notice(
        "stale",
        _(
            "This clip has {frames} frames: integrated gradients, occlusion and deletion ask the model again for every frame, "
            "and are offered up to {most}. The other measures take any length."
        ).format(frames=number(frames), most=number(gloss_measures.MAX_FRAMES)),
    )
    return True


def _measures(recognition: Recognition, *, asked: bool) -> dict[str, str]:
    """Code and name of each: the sub-layers first, then what follows the whole model, then what asks it."""
    layers = {name: _("Attention: {map}").format(map=title) for name, title in titles(recognition).items()}
    others = faithfulness_view.method_names()
    return layers | {code: others[code] for code in (ROLLOUT, RELEVANCE, *(ASKED if asked else ()))}


def _meanings() -> str:
    return _(
        "Attention and rollout: what the frames that call the gloss look at, on average. Gradient relevance, integrated "
        "gradients and occlusion: what made its surest frame say it. The last two can be negative: such a frame speaks against "
        "the gloss."
    )


def _rows(recogniser: Recogniser, clip: Clip, measures: ClipMeasures, measure: str, chosen: int) -> Any:
    """(glosses, T') of the measure; of those that ask the model, the chosen gloss's alone."""
    if measure not in ASKED:
        return measures.rows[measure]
    gloss = measures.glosses[chosen]
    with st.spinner(_("Running the model once for each frame…"), show_time=True):
        importance = cached_results.evidence(recogniser, clip, frame=gloss.peak, label=gloss.label).importance
    return gloss_measures.one_row(importance[measure], chosen, len(measures.glosses))


# -- in words, and in pictures -------------------------------------------------------------------------------------------------


def _unit(measure: str) -> str:
    """Title of the value axis."""
    units = {ROLLOUT: _("Share"), RELEVANCE: _("Relevance"), "gradients": _("Probability"), "occlusion": _("Probability")}
    return units.get(measure, _("Weight"))


def _value(measure: str, value: float) -> str:
    if measure in ASKED:
        return _("{count} points").format(count=number(100 * value, 1, sign=True))
    return significant(value) if measure == RELEVANCE else percent(value)


def _sentence(gloss: GlossSpan, name: str, recognition: Recognition, measure: str, strongest: StrongestFrames, row: Any) -> str:
    """Says which frames count most, and whether they are the gloss's own."""

    def second(frame: int) -> str:
        return number(float(recognition.seconds[frame]), 2)

    words = _("`{gloss}` is read from {first} to {last} s and surest at {peak} s, with a probability of {share}.").format(
        gloss=name,
        first=second(gloss.first),
        last=second(gloss.last),
        peak=second(gloss.peak),
        share=percent(float(recognition.probabilities[gloss.peak, gloss.label])),
    )
    if not strongest.frames:
        return words + " " + _("By this measure no frame speaks for it.")
    each = _("{second} s ({value})")
    listed = ", ".join(each.format(second=second(frame), value=_value(measure, float(row[frame]))) for frame in strongest.frames)
    most = ngettext(
        "By this measure this frame counts most: {frames}.",
        "By this measure these frames count most: {frames}.",
        len(strongest.frames),
    )
    words += " " + most.format(frames=listed)
    words += " " + _where(strongest)
    if measure == "occlusion":
        words += " " + _("Hiding the first of them alone takes {loss} percentage points from that probability.").format(
            loss=number(100 * strongest.largest, 1)
        )
    if measure == "gradients":
        words += " " + _("All frames together add {total} percentage points to what the clip's mean frame gives.").format(
            total=number(100 * strongest.total, 1)
        )
    return words


def _where(strongest: StrongestFrames) -> str:
    count = len(strongest.frames)
    if strongest.inside == count:
        words = ngettext("It lies inside the gloss's own run.", "All {count} lie inside the gloss's own run.", count)
    elif not strongest.inside:
        words = ngettext("It lies outside the gloss's own run.", "None of the {count} lies inside the gloss's own run.", count)
    else:
        words = ngettext(
            "{inside} of the {count} lies inside the gloss's own run.",
            "{inside} of the {count} lie inside the gloss's own run.",
            strongest.inside,
        )
    return words.format(count=number(count), inside=number(strongest.inside))


def _pictures(
    recogniser: Recogniser,
    clip: Clip,
    gloss: GlossSpan,
    recognition: Recognition,
    measure: str,
    strongest: StrongestFrames,
    row: Any,
) -> None:
    """The frames that count most, enlarged, strongest first."""
    inside, outside = _("{second} s · {value}"), _("{second} s · {value} · outside its run")
    with st.container(horizontal=True, key="signs_counted"):
        for frame in strongest.frames:
            picture = cached_results.picture(clip, min(frame * recogniser.stride, len(clip.data) - 1))
            words = inside if gloss.first <= frame <= gloss.last else outside
            caption = words.format(second=number(float(recognition.seconds[frame]), 2), value=_value(measure, float(row[frame])))
            st.image(picture.decode() if clip.kind == "tracks" else picture, caption=caption, alt=caption, width=THUMB_PX)
    if clip.kind == "tracks" and strongest.frames:
        st.caption(_("Blue is the left hand, orange the right hand, grey the nose; the line is their recent path."))


def download(recogniser: Recogniser, recognition: Recognition, measures: ClipMeasures, shown: ShownGlosses) -> None:
    """The heatmap as a table, a row a gloss."""
    names = recogniser.vocabulary.names

    def table() -> pd.DataFrame:
        frame = pd.DataFrame(shown.rows, columns=[round(float(second), 3) for second in recognition.seconds])
        frame.insert(0, "gloss", [names[one.label] for one in measures.glosses])
        for place, part in enumerate(("first", "last", "peak"), start=1):
            frame.insert(
                place, f"{part}_s", [round(float(recognition.seconds[getattr(one, part)]), 3) for one in measures.glosses]
            )
        return frame

    controls.download_table(
        _("Shown heatmap"),
        table,
        key="signs_glosses_table",
        filename=f"frames-behind-glosses-{shown.measure}".replace(" ", "-"),
        formats=("csv",),
    )
