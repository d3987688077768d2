"""Which frames stand behind each gloss: all glosses by one measure, one of them frame by frame, and those frames themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pandas as pd
import streamlit as st

from core.figures import frames as figures
from core.signs import gloss_measures as lookings
from core.signs.evidence import Spoken
from core.signs.gloss_measures import ASKED, RELEVANCE, ROLLOUT, CountedGlosses, Looks
from core.signs.recognition import Recognition
from pages.shared import controls, faithfulness_view, url_state
from pages.shared.language import _, ngettext, number, percent, significant
from pages.shared.live_plot import Point, live_plot
from pages.signs import cached_results as answers
from pages.signs.cached_results import Clip, Model
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


def show(model: Model, clip: Clip, found: Recognition, looked: Looks) -> ShownGlosses:
    """The view; returns the heatmap that it shows."""
    measures = _measures(found, asked=not too_long(found))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = pick_gloss(model, found, looked)
        measure = url_state.choice(
            st.selectbox, _("Measure"), measures, key="measure", default=RELEVANCE, width=340, help=_meanings()
        )
        every = measure in ASKED and st.toggle(
            _("For all glosses"),
            key="every_gloss",
            bind="query-params",
            help=_("This measure asks the model again for every frame of every gloss: about a second a gloss on a short clip."),
        )
    rows = _rows(model, clip, looked, measure, chosen, every=every)
    gloss, names = looked.glosses[chosen], model.recogniser.vocabulary.names
    told = lookings.counted(rows[chosen], gloss)

    def choose(point: Point) -> None:
        if point.y is not None:
            st.session_state[GLOSS] = str(min(max(round(float(point.y)), 0), len(looked.glosses) - 1) + 1)

    live_plot(
        figures.glosses_figure(
            rows, looked.glosses, names, found.seconds, chosen=chosen, measure=_unit(measure), strip=answers.strip(clip, STRIP),
            keep=f"{clip.key}:{measure}",
        ),
        key="signs_glosses",
        height=figures.glosses_height(len(looked.glosses)),
        on_click=choose,
        filename=f"frames-behind-glosses-{measure}".replace(" ", "-"),
        alt=_("Glosses by frames: how much each frame counts for each gloss; a click chooses a gloss."),
    )  # fmt: skip
    if measure in ASKED and not every and len(looked.glosses) > 1:
        st.caption(_("Computed for the chosen gloss alone. Click on another row, or switch on all glosses."))
    st.subheader(names[gloss.label], anchor=False)
    st.markdown(_sentence(gloss, names[gloss.label], found, measure, told, rows[chosen]))
    live_plot(
        figures.gloss_figure(
            rows[chosen], gloss, found.seconds, counted=told.frames, measure=_unit(measure),
            left=figures.left_px([names[one.label] for one in looked.glosses]), keep=f"{clip.key}:{measure}",
        ),
        key="signs_gloss",
        height=280,
        filename="frames-behind-a-gloss",
        alt=_("How much each frame counts for the chosen gloss, a bar a frame; its own frames and its surest one are marked."),
    )  # fmt: skip
    _pictures(model, clip, gloss, found, measure, told, rows[chosen])
    return ShownGlosses(measure=measure, rows=rows)


# -- the choices ---------------------------------------------------------------------------------------------------------------


def pick_gloss(model: Model, found: Recognition, looked: Looks) -> int:
    """Which gloss of the best path, as an index."""
    names, seconds = model.recogniser.vocabulary.names, found.seconds
    span = _("{gloss} · {first} to {last} s")
    options = {
        str(place): span.format(
            gloss=names[one.label],
            first=number(float(seconds[one.first]), 2),
            last=number(float(seconds[one.last]), 2),
        )
        for place, one in enumerate(looked.glosses, start=1)
    }
    return int(url_state.choice(st.selectbox, _("Gloss (or click one)"), options, key=GLOSS, width=280)) - 1


def chosen(looked: Looks) -> int | None:
    """The gloss that is or was chosen, as an index; the first one where none was, None in a clip without any."""
    if not looked.glosses:
        return None
    code = str(st.session_state.get(GLOSS) or st.query_params.get(GLOSS) or "1")
    return int(code) - 1 if code.isdecimal() and 1 <= int(code) <= len(looked.glosses) else 0


def too_long(found: Recognition) -> bool:
    """Whether the clip is too long to be asked about frame by frame; if so, that is said."""
    frames = len(found.seconds)
    if frames <= lookings.MOST_FRAMES:
        return False
    controls.notice(
        "stale",
        _(
            "This clip has {frames} frames: integrated gradients, occlusion and deletion ask the model again for every frame, "
            "and are offered up to {most}. The other measures take any length."
        ).format(frames=number(frames), most=number(lookings.MOST_FRAMES)),
    )
    return True


def _measures(found: Recognition, *, asked: bool) -> dict[str, str]:
    """Code and name of each: the sub-layers first, then what follows the whole model, then what asks it."""
    layers = {name: _("Attention: {map}").format(map=title) for name, title in titles(found).items()}
    others = faithfulness_view.method_names()
    return layers | {code: others[code] for code in (ROLLOUT, RELEVANCE, *(ASKED if asked else ()))}


def _meanings() -> str:
    return _(
        "Attention and rollout: what the frames that call the gloss look at, on average. Gradient relevance, integrated "
        "gradients and occlusion: what made its surest frame say it. The last two can be negative: such a frame speaks against "
        "the gloss."
    )


def _rows(model: Model, clip: Clip, looked: Looks, measure: str, chosen: int, *, every: bool) -> Any:
    """(glosses, T') of the measure; of those that ask the model, the chosen gloss's alone unless all are wanted."""
    if measure not in ASKED:
        return looked.rows[measure]

    def asked(gloss: Spoken) -> Any:
        return answers.evidence(model, clip, frame=gloss.peak, label=gloss.label).importance[measure]

    count = len(looked.glosses)
    if not every:
        with st.spinner(_("Asking the model frame by frame…"), show_time=True):
            return lookings.one_row(asked(looked.glosses[chosen]), chosen, count)
    bar = st.progress(0.0, text=_("Asking the model frame by frame…"))
    rows = []
    for place, gloss in enumerate(looked.glosses, start=1):
        rows.append(asked(gloss))
        bar.progress(place / count, text=_("Asking the model frame by frame…"))
    bar.empty()
    return lookings.all_rows(rows)


# -- in words, and in pictures -------------------------------------------------------------------------------------------------


def _unit(measure: str) -> str:
    """Title of the value axis."""
    units = {ROLLOUT: _("Share"), RELEVANCE: _("Relevance"), "gradients": _("Probability"), "occlusion": _("Probability")}
    return units.get(measure, _("Weight"))


def _value(measure: str, value: float) -> str:
    if measure in ASKED:
        return _("{count} points").format(count=number(100 * value, 1, sign=True))
    return significant(value) if measure == RELEVANCE else percent(value)


def _sentence(gloss: Spoken, name: str, found: Recognition, measure: str, told: CountedGlosses, row: Any) -> str:
    """Which frames count most, and whether they are the gloss's own."""

    def second(frame: int) -> str:
        return number(float(found.seconds[frame]), 2)

    words = _("`{gloss}` is read from {first} to {last} s and surest at {peak} s, with a probability of {share}.").format(
        gloss=name,
        first=second(gloss.first),
        last=second(gloss.last),
        peak=second(gloss.peak),
        share=percent(float(found.probabilities[gloss.peak, gloss.label])),
    )
    if not told.frames:
        return words + " " + _("By this measure no frame speaks for it.")
    each = _("{second} s ({value})")
    listed = ", ".join(each.format(second=second(frame), value=_value(measure, float(row[frame]))) for frame in told.frames)
    most = ngettext(
        "By this measure this frame counts most: {frames}.",
        "By this measure these frames count most: {frames}.",
        len(told.frames),
    )
    words += " " + most.format(frames=listed)
    words += " " + _where(told)
    if measure == "occlusion":
        words += " " + _("Hiding the first of them alone takes {loss} percentage points from that probability.").format(
            loss=number(100 * told.largest, 1)
        )
    if measure == "gradients":
        words += " " + _("All frames together add {total} percentage points to what the clip's mean frame gives.").format(
            total=number(100 * told.total, 1)
        )
    return words


def _where(told: CountedGlosses) -> str:
    count = len(told.frames)
    if told.inside == count:
        words = ngettext("It lies inside the gloss's own run.", "All {count} lie inside the gloss's own run.", count)
    elif not told.inside:
        words = ngettext("It lies outside the gloss's own run.", "None of the {count} lies inside the gloss's own run.", count)
    else:
        words = ngettext(
            "{inside} of the {count} lies inside the gloss's own run.",
            "{inside} of the {count} lie inside the gloss's own run.",
            told.inside,
        )
    return words.format(count=number(count), inside=number(told.inside))


def _pictures(model: Model, clip: Clip, gloss: Spoken, found: Recognition, measure: str, told: CountedGlosses, row: Any) -> None:
    """The frames that count most, enlarged, strongest first."""
    inside, outside = _("{second} s · {value}"), _("{second} s · {value} · outside its run")
    with st.container(horizontal=True, key="signs_counted"):
        for frame in told.frames:
            picture = answers.picture(clip, min(frame * model.recogniser.stride, len(clip.data) - 1))
            words = inside if gloss.first <= frame <= gloss.last else outside
            caption = words.format(second=number(float(found.seconds[frame]), 2), value=_value(measure, float(row[frame])))
            st.image(picture.decode() if clip.kind == "tracks" else picture, caption=caption, width=THUMB_PX)
    if clip.kind == "tracks" and told.frames:
        st.caption(_("Blue is the left hand, orange the right hand, grey the nose; the line is the way they came."))


def download(model: Model, found: Recognition, looked: Looks, shown: ShownGlosses) -> None:
    """The heatmap as a table, a row a gloss."""
    names = model.recogniser.vocabulary.names

    def table() -> pd.DataFrame:
        frame = pd.DataFrame(shown.rows, columns=[round(float(second), 3) for second in found.seconds])
        frame.insert(0, "gloss", [names[one.label] for one in looked.glosses])
        for place, part in enumerate(("first", "last", "peak"), start=1):
            frame.insert(place, f"{part}_s", [round(float(found.seconds[getattr(one, part)]), 3) for one in looked.glosses])
        return frame

    controls.download_table(
        _("Shown heatmap"),
        table,
        key="signs_glosses_table",
        filename=f"frames-behind-glosses-{shown.measure}".replace(" ", "-"),
        formats=("csv",),
    )
