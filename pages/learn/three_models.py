"""One dial over three trained models: an order book, a garment and a hand, as a part of the page on trained attention."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from core import checkpoints
from core.figures.attention import NamedMap, time_axis
from core.figures.attention import row_figure as book_figure
from core.figures.pictures import overlay_figure
from core.figures.signs import clip_axis
from core.figures.signs import row_figure as film_figure
from core.figures.strip import even_indices
from core.lecture import three_models
from core.lecture.claims import told
from core.lecture.claims import trained_text as said
from core.lecture.handout import Worked
from core.lecture.notebooks import on_screen
from core.lecture.three_models import CHECKPOINTS, LAYERS, ModelLook, RowSpread, Thing
from core.signs import video
from core.vision.analysis import TokenShares
from pages.learn import frame
from pages.learn.frame import Dial, passage, tex
from pages.learn.lesson_page import Item, PartView, caption, check, markdown, plot, table, written
from pages.shared.language import _, number, percent, significant

TEMPERATURES: Final = (0.02, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0)
PICTURES: Final = 6
"""Frames under the film's bars."""
HEIGHT: Final = 330


@st.cache_resource(show_spinner=False, max_entries=2)
def _looks(digests: tuple[str, ...]) -> tuple[ModelLook, ModelLook, ModelLook]:
    return three_models.looks(checkpoints.FOLDER)


def looks() -> tuple[ModelLook, ModelLook, ModelLook]:
    """The three models' attention, computed again where a card has changed.

    Raises:
        CheckpointError: where a checkpoint is missing or damaged.
    """
    paths = [checkpoints.FOLDER / f"{name}.json" for name in CHECKPOINTS.values()]
    return _looks(tuple(checkpoints.sha256(path) if path.exists() else "" for path in paths))


def dials() -> dict[str, Dial]:
    """Temperature, layer and head of all three."""
    with st.spinner(_("Three models look at a book, a garment and a hand …")):
        heads = max(len(layer) for look in looks() for layer in look.heads)
    return {
        "tau": frame.choice(
            _("Temperature"), {f"{one:g}": significant(one) for one in TEMPERATURES}, key="tau", default="1",
            widget=st.select_slider, value=float,
        ),
        "layer": frame.choice(_("Layer"), {"first": _("first"), "last": _("last")}, key="layer3", default="last"),
        "head": frame.choice(_("Head"), frame.whole_numbers(*range(1, heads + 1)), key="head3", value=int),
    }  # fmt: skip


def names() -> dict[Thing, str]:
    """The things, translated."""
    return {"book": _("Order book"), "garment": _("Garment"), "hand": _("Hand")}


def show(tau: float, layer: str, head: int) -> PartView:
    """One row of one head of each model at a temperature."""
    shown, last = looks(), layer == "last"
    heads = [look.head(last, head) for look in shown]
    maps = [one.at(tau) for one in heads]
    spreads = [three_models.spread(look, weights[look.query]) for look, weights in zip(shown, maps, strict=True)]
    off = three_models.deviation(shown)
    same = _("Weights computed again from queries and keys; at τ = 1 they differ from the models' own by {value} at most.")
    title = names()
    rows = {
        _("What is seen"): [title[one.thing] for one in spreads],
        _("Tokens"): [number(one.count) for one in spreads],
        _("Entropy of the row (nats)"): [number(one.entropy, 3) for one in spreads],
        _("Of even weights (nats)"): [number(one.even, 3) for one in spreads],
        _("Share of that"): [percent(one.relative) for one in spreads],
        _("As if evenly over"): [number(one.effective, 1) for one in spreads],
        _("Largest weight"): [percent(one.largest) for one in spreads],
    }
    taken = {
        name: value
        for look, one in zip(shown, heads, strict=True)
        for name, value in ((f"{look.thing.upper()}_Q", one.q[look.query]), (f"{look.thing.upper()}_K", one.k))
    }
    return PartView(
        equation=Worked(
            r"\begin{gathered} A_{ij} = \frac{e^{q_i \cdot k_j / (\tau \sqrt{d_k})}}{\sum_{j'} e^{q_i \cdot k_{j'} / (\tau "
            r"\sqrt{d_k})}} \\ n_{\mathrm{eff}} = \exp\!\Big(-\sum_j A_{ij} \ln A_{ij}\Big) \end{gathered}",
            r"\begin{aligned} "
            + r" \\ ".join(
                rf"\text{{{title[one.thing]}}}:\; e^{{{tex(one.entropy)}}} &= {tex(one.effective, 1)} \text{{ / }} {one.count}"
                for one in spreads
            )
            + r" \end{aligned}",
            _("as if evenly over so many tokens, at τ = {tau}").format(tau=significant(tau)),
        ),
        figure=[
            [
                [markdown(heading(one)), panel(look, weights, last), caption(label(look, last, head, weights))]
                for look, weights, one in zip(shown, maps, spreads, strict=True)
            ],
            check(same.format(value=written(off, -1)), off < 1e-4),
        ],
        notes=[*told(said.three(spreads)), passage("trained_text", "three")],
        more=[table(rows, "three")],
        taken=lambda: {**taken, "TAU": tau, **on_screen({one.thing: [one.entropy, one.effective] for one in spreads})},
    )


def heading(one: RowSpread) -> str:
    """The thing, and how widely its row is spread."""
    told = _("{thing}: as if evenly over {few} of {all}")
    return f"**{told.format(thing=names()[one.thing], few=number(one.effective, 1), all=number(one.count))}**"


def label(look: ModelLook, last: bool, head: int, weights: Any) -> str:
    """Model, checkpoint, layer and head, and what a token is."""
    layer, count = LAYERS[look.thing][int(last)], len(look.heads[int(last)])
    model, token = {
        "book": ("TLOB", _("a token is a time step of 250 ms; query: the newest, from which the call is read")),
        "garment": (
            "CCT",
            _("a token is a patch of 16 × 16 pixels, and one the class token: the query, from which the class is read"),
        ),
        "hand": ("IIGA", _("a token is a frame; query: the frame in which the model is surest of a digit")),
    }[look.thing]
    which = _("head {number} of {count}").format(number=number(min(head, count)), count=number(count))
    name = _(look.name) if look.thing == "garment" else look.name
    if look.thing == "garment":
        kept = _("the class token keeps {share} of the weight, the picture shows the rest")
        token += "; " + kept.format(share=percent(TokenShares.of(weights[look.query]).class_token))
    return f"{model} `{look.checkpoint}` · {layer}, {which} · {name}: {token}."


def panel(look: ModelLook, weights: Any, last: bool) -> Item:
    """The row over what the model saw."""
    layer = LAYERS[look.thing][int(last)]
    if look.thing == "garment":
        shares = TokenShares.of(weights[look.query])
        figure = overlay_figure(look.seen, shares.patches, patch=look.patch, value=_("Weight"), height=HEIGHT)
        return plot(figure, "three_garment", _("The photograph with the weight of each patch as a glow over it."))
    if look.thing == "book":
        one = NamedMap(name=layer, title=layer, weights=weights, axis=time_axis(look.places))
        figure = book_figure(one, query=look.query, mid=look.seen, keep="three_book")
        return plot(figure, "three_book", _("The weight of each time step of the window, over the mid-price."), height=HEIGHT)
    one = NamedMap(name=layer, title=layer, weights=weights, axis=clip_axis(look.places))
    indices = even_indices(len(look.seen), PICTURES)
    strip = list(zip(indices, video.sheet(look.seen, indices), strict=True))
    figure = film_figure(one, query=look.query, strip=strip, keep="three_hand")
    return plot(figure, "three_hand", _("The weight of each frame of the film, over the frames."), height=HEIGHT)
