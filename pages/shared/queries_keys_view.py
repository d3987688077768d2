"""The view of a head's queries and keys over many inputs, the same for every model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import pandas as pd
import streamlit as st

from core.explain.queries_keys import HeadVectors, JointSample, JointView, joint_view
from core.figures.queries_keys import MAX_SHOWN, ColourBy, joint_figure
from core.figures.style import SERIES
from pages.shared import controls, url_state
from pages.shared.language import _, number, percent, prose, significant
from pages.shared.live_plot import live_plot


def show(
    sample: Callable[[], JointSample],
    *,
    titles: Mapping[str, str],
    class_name: Callable[[str], str],
    of: str,
    label_is: str,
    default: str | None = None,
) -> None:
    """The view.

    Args:
        sample: computes the vectors. titles: translated names of the maps; those without vectors are left out.
        class_name: translates a class. of: translated sentence on the inputs, with the gap {count}.
        label_is: translated sentence on what an input's class is. default: the layer at first.
    """
    with st.spinner(_("Collecting queries and keys…"), show_time=True):
        joint = sample()
    names = {name: titles.get(name, name) for name in joint.layers}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layer = url_state.choice(st.selectbox, _("Layer"), names, key="qk_layer", default=default, width=260)
        vectors = joint.layers[layer]
        heads = {str(index + 1): number(index + 1) for index in range(len(vectors.q))}
        head = 0
        if len(heads) > 1:
            head = int(url_state.choice(st.selectbox, _("Attention head"), heads, key="qk_head", width=140)) - 1
        colours = {"kind": _("Query or key"), "position": _("Position"), "class": _("Class")}
        colour = cast(
            ColourBy,
            url_state.choice(st.segmented_control, _("Coloured by"), colours, key="qk_colour", required=True),
        )
        classes = [class_name(name) for name in joint.classes]
        highlight = _highlight(vectors, classes) if colour == "class" else None
        aligned = not st.toggle(
            _("As they are"),
            key="qk_plain",
            bind="query-params",
            help=_(
                "Off: queries are multiplied by one number, keys divided by it and shifted, so that both clouds lie over each "
                "other. No attention weight changes: the products stay, and softmax ignores what is added to a whole row."
            ),
        )
    view = joint_view(vectors.q[head], vectors.k[head], aligned=aligned)
    left, right = st.columns([3, 2])
    with left:
        live_plot(
            joint_figure(
                view,
                vectors,
                classes,
                colour=colour,
                highlight=highlight,
                position_title=_("Position"),
                keep=f"{layer}:{head}:{aligned}",
                write=significant,
            ),
            key="joint_plane",
            height=520,
            filename="queries-keys",
            alt=_("Queries and keys of one head on the plane of their two largest principal components."),
        )
    with right:
        st.markdown(_sentence(view, vectors, joint, of=of))
        st.caption(label_is)
        _losses(vectors, aligned=aligned)
        st.markdown(prose("queries_keys"))
        _download(view, vectors, classes)


def _highlight(vectors: HeadVectors, classes: Sequence[str]) -> int | None:
    """The class in colour; None where there are so few that each has a colour of its own."""
    present = sorted({int(label) for label in vectors.labels})
    if len(present) <= len(SERIES):
        return None
    options = {str(label): classes[label] for label in present}
    return int(url_state.choice(st.selectbox, _("Class in colour"), options, key="qk_class", width=200))


def _sentence(view: JointView, vectors: HeadVectors, joint: JointSample, *, of: str) -> str:
    words = [
        of.format(count=number(joint.inputs)),
        _(
            "**This plane does not show {loss} of the variance** of its {count} queries and as many keys of {width} numbers."
        ).format(loss=percent(view.loss), count=number(len(view.q)), width=number(view.width)),
    ]
    if len(view.q) > MAX_SHOWN:
        words.append(_("Drawn are {most} of each, evenly spaced.").format(most=number(MAX_SHOWN)))
    if view.scale != 1.0:
        words.append(
            _("Queries were multiplied by {scale}, keys divided by it and shifted; no weight changes.").format(
                scale=significant(view.scale)
            )
        )
    return " ".join(words)


def _losses(vectors: HeadVectors, *, aligned: bool) -> None:
    if len(vectors.q) == 1:
        return
    losses = [joint_view(q, k, aligned=aligned).loss for q, k in zip(vectors.q, vectors.k, strict=True)]
    st.caption(
        _("Not shown, head by head: {losses}.").format(
            losses=" · ".join(f"{i + 1}: {percent(one)}" for i, one in enumerate(losses))
        )
    )


def _download(view: JointView, vectors: HeadVectors, classes: Sequence[str]) -> None:
    def table() -> pd.DataFrame:
        parts = [
            pd.DataFrame(
                {
                    "kind": kind,
                    "input": vectors.inputs + 1,
                    "position": vectors.positions + 1,
                    "class": [classes[label] for label in vectors.labels],
                    "first": points[:, 0],
                    "second": points[:, 1],
                }
            )
            for kind, points in (("query", view.q), ("key", view.k))
        ]
        return pd.concat(parts)

    controls.download_table(_("Points"), table, key="joint_points", filename="queries-keys", formats=("csv",))
