"""All attention maps of a picture: every layer in small, one enlarged with a row over the picture, entropy and mean distance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import streamlit as st

from core.explain import summaries
from core.figures import attention as figures
from core.figures import pictures as picture_figures
from core.figures.attention import MapAxis, NamedMap
from core.vision.analysis import CLASS_TOKEN, PictureAnalysis, TokenShares
from pages.images import cached_results, patch_evidence
from pages.images.cached_results import ROLLOUT
from pages.shared import map_explorer
from pages.shared.language import _, number
from pages.shared.live_plot import live_plot
from pages.shared.map_explorer import Keys, Measure, Query

KEYS: Final = Keys(layer="vlayer", scale="vscale", head="vhead", first_head=1, grid="vit_maps", plot="vit")
"""Layer and head have the same URL parameters as the view over the picture, so that the choice carries over."""


def show(analysis: PictureAnalysis) -> Callable[[], None]:
    """The view; returns a function that draws its downloads."""
    weights = cached_results.maps(analysis)
    names = {code: _("Rolled out") if code == ROLLOUT else _("Layer {number}").format(number=code) for code in weights}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choice = map_explorer.pick(KEYS, names, heads=analysis.heads, default=str(len(analysis.maps)))

    def axis(name: str, count: int) -> MapAxis:
        return figures.token_axis(count, kind=ROLLOUT if name == ROLLOUT else "token")

    maps = map_explorer.named(weights, names, choice, axis)
    with map_explorer.grid(map_explorer.pairs(maps), keys=KEYS, choice=choice):
        st.caption(
            _(
                "Rows and columns are the class token, 0, and the {count} patches row by row from the top; stripes {side} apart "
                "are looks up and down the picture. Rolled out: the mean attention of all layers, half of each replaced by the "
                "residual connection, multiplied from the first layer to the last."
            ).format(count=number(analysis.grid**2), side=number(analysis.grid))
        )
    chosen = map_explorer.chosen(maps, choice)
    query = Query(
        pick=lambda: patch_evidence.pick_token(analysis, _("Query (or click a row of the map, or a patch)")),
        take=lambda index: st.session_state.update(token=str(index)),
    )
    index = map_explorer.enlarged(
        chosen, of=maps, keys=KEYS, choice=choice, query=query, beside=lambda token: _beside(analysis, chosen, token), height=540
    )
    map_explorer.row_plot(chosen, index, keys=KEYS, height=260, whose=_("This picture"))
    _spread_and_distance(analysis)

    def downloads() -> None:
        map_explorer.download_map(chosen, keys=KEYS)
        map_explorer.download_row(chosen, index, keys=KEYS)

    return downloads


def _beside(analysis: PictureAnalysis, one: NamedMap, token: int) -> None:
    """The chosen row in a sentence, and over the picture."""
    sentence = map_explorer.row_sentence(one, token, _position)
    if token != CLASS_TOKEN and one.name != ROLLOUT:
        distance = float(summaries.patch_distance(one.weights)[token - 1])
        sentence += " " + _("On average it looks {distance} patches away from itself.").format(distance=number(distance, 2))
    st.markdown(sentence)
    live_plot(
        picture_figures.overlay_figure(
            analysis.image,
            TokenShares.of(one.weights[token]).patches,
            patch=analysis.classifier.config.patch,
            outlined=token - 1 if token else None,
            value=_("Weight"),
            height=380,
        ),
        key="vit_picture",
        height=380,
        on_click=lambda point: patch_evidence.take_token(point, analysis, token),
        filename=KEYS.file(f"picture-{one.name}"),
        alt=_("The picture, each patch glowing by the weight that the row gives it; a click reads a patch's row."),
    )


def _position(token: int) -> str:
    return _("the class token") if token == CLASS_TOKEN else _("patch {number}").format(number=token)


def _spread_and_distance(analysis: PictureAnalysis) -> None:
    """Entropy and mean distance, one bar per layer."""
    st.header(_("Entropy and distance"), anchor=False)

    def each(measure: Any) -> list[float]:
        return [measure(weights) for weights in analysis.maps.values()]

    tokens = analysis.grid**2 + 1
    map_explorer.measures(
        [
            Measure(
                key="entropy",
                title=_("Entropy"),
                unit=_("nats"),
                values=each(summaries.mean_entropy),
                even=summaries.even_entropy(tokens),
            ),
            Measure(
                key="distance",
                title=_("Mean distance"),
                unit=_("patches"),
                values=each(summaries.mean_patch_distance),
                even=summaries.even_patch_distance(analysis.grid),
            ),
        ],
        keys=KEYS,
        alt=_("{what} by layer."),
        whose=_("This picture"),
        counted=_("Layer"),
    )
    st.caption(
        _(
            "Means over all queries and heads. Entropy is 0 where a query looks at one token alone and ln {count} = {most} where "
            "it looks at all {count} alike. Distance is between the middles of patches; the class token lies nowhere and is left "
            "out. The orange mark is what looking at all alike would give."
        ).format(count=number(tokens), most=number(summaries.even_entropy(tokens), 2))
    )
