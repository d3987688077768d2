"""Steps from patches to tokens to classes: the forward pass of the ViT for one image, step by step, with this image's numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.figures import pictures as picture_figures
from core.figures import tokens as figures
from core.vision import walkthrough
from core.vision.analysis import CLASS_TOKEN
from core.vision.classifier import Classifier
from core.vision.pictures import Bytes
from core.vision.walkthrough import ViTWalkthrough
from pages.images import cached_results
from pages.learn.frame import equation_here, tex, tex_row
from pages.shared import url_state
from pages.shared.language import _, number, percent, significant
from pages.shared.live_plot import Point, live_plot


@dataclass(frozen=True, kw_only=True)
class Place:
    """A token of an image in one head of one layer, all counted from 0; token 0 is the class token."""

    classifier: Classifier
    image: Bytes
    walk: ViTWalkthrough
    token: int
    layer: int
    head: int

    @property
    def name(self) -> str:
        """Name of the token."""
        return token_name(self.token)


def token_name(token: int) -> str:
    """Name of the class token, or of a patch by its number."""
    return _("The class token") if token == CLASS_TOKEN else _("Patch {number}").format(number=number(token))


def patch_clicked(point: Point, classifier: Classifier) -> int | None:
    """Number, from 1, of the patch that was clicked in a picture; None beside it."""
    if not (isinstance(point.x, float | int) and isinstance(point.y, float | int)):
        return None
    grid = classifier.config.grid
    place = picture_figures.image_at(point.x, point.y, columns=grid, count=grid**2, side=classifier.config.patch)
    return None if place is None else 1 + place


def patches(place: Place) -> None:
    """The grid, and one patch as grey levels and as the model's units."""
    one = place.classifier
    config = one.config
    if place.walk.convolutional:
        _convolved(place)
        return
    st.markdown(
        _(
            "The image is cut into {grid} x {grid} = {count} patches of {p} x {p} pixels. Each becomes a row of {values} "
            "numbers, pixel by pixel; a grey level is first divided by 255, then set against the mean and the standard deviation "
            "of all training images."
        ).format(grid=config.grid, count=config.patches, p=config.patch, values=config.patch**2)
    )
    if not place.token:
        st.info(_("The class token is no patch: choose one to see its pixels."))
        return
    grey = walkthrough.tiles(place.image, config.patch)[place.token - 1]
    units = place.walk.patches[place.token - 1]
    row, column = divmod(int(grey.argmax()), config.patch)
    equation_here(
        r"x = \frac{g / 255 - \mu}{\sigma}",
        rf"x = \frac{{{int(grey[row, column])} / 255 - {tex(one.mean, 4)}}}{{{tex(one.std, 4)}}} = {tex(float(units.max()), 4)}",
        note=_("The patch's brightest pixel, in row {row} and column {column}.").format(row=row + 1, column=column + 1),
    )
    left, right = st.columns(2)
    with left:
        st.markdown(_("**Grey levels**, 0 to 255"))
        _grid(grey, "tokens_grey", _("The patch's grey levels."), grey=True, digits=0)
    with right:
        st.markdown(_("**What the model reads**, in standard deviations"))
        _grid(units.reshape(grey.shape), "tokens_units", _("The patch in the model's units."))


def _convolved(place: Place) -> None:
    """One patch, and the numbers that the convolutions make of it."""
    config, walk = place.classifier.config, place.walk
    st.markdown(
        _(
            "The image is cut into {grid} x {grid} = {count} patches of {p} x {p} pixels. Small convolutions make of "
            "the patch and its surroundings {values} numbers, one of each of their last channels."
        ).format(grid=config.grid, count=config.patches, p=config.patch, values=walk.patches.shape[-1])
    )
    if not place.token:
        st.info(_("The class token is no patch: choose one to see its pixels."))
        return
    left, right = st.columns(2)
    with left:
        st.markdown(_("**The patch**"))
        pixels = walkthrough.tiles(place.image, config.patch)[place.token - 1]
        st.image(picture_figures.fitted_png(pixels, side=224), alt=_("The patch's pixels."))
    with right:
        st.markdown(_("**What the convolutions make of it**"))
        _grid(
            walk.patches[place.token - 1].reshape(_shape(walk)), "tokens_cell", _("The patch's numbers after the convolutions.")
        )


def _shape(walk: ViTWalkthrough) -> tuple[int, int]:
    """Rows and columns in which a patch's numbers are shown: the most nearly square."""
    count = walk.patches.shape[-1]
    rows = max(rows for rows in range(1, int(count**0.5) + 1) if count % rows == 0)
    return rows, count // rows


def embedding(place: Place) -> None:
    """The embedding of one channel by hand, then of all."""
    config, walk = place.classifier.config, place.walk
    st.markdown(
        _("One matrix, the same for every patch, makes {d} channels of a patch's {values} numbers.").format(
            d=config.width, values=walk.patches.shape[-1]
        )
    )
    if not place.token:
        st.info(_("The class token is not embedded: it is learnt as it is. Choose a patch to see one embedded."))
        return
    patch = place.token - 1
    channel = url_state.slider(_("Channel to work out"), 1, config.width, key="byhand", default=1) - 1
    pieces = walk.contribution(patch, channel)
    total, bias, whole = float(pieces.sum()), float(walk.bias[channel]), float(walk.embedded[patch, channel])
    equation_here(
        r"e_c = \sum_{i} W_{c,i}\, x_i + b_c",
        rf"e_{{{channel + 1}}} = {tex(total, 4)} {'+' if bias >= 0 else '-'} {tex(abs(bias), 4)} = {tex(whole, 4)}",
    )
    shape = _shape(walk)
    for cell, title, values, key in zip(
        st.columns(3),
        (_("**The patch**, x"), _("**The channel's weights**, W"), _("**Products**, to be summed")),
        (walk.patches[patch], walk.weight[channel], pieces),
        ("tokens_x", "tokens_w", "tokens_wx"),
        strict=True,
    ):
        with cell:
            st.markdown(title)
            _grid(values.reshape(shape), key, title.replace("*", ""), height=210)
    _vectors({_("Embedding of {name}, all channels").format(name=place.name): walk.embedded[patch]}, "tokens_embedded", channel)


def positions(place: Place) -> None:
    """The class token before the patches, and positions of a tenth added."""
    config, walk = place.classifier.config, place.walk
    st.markdown(
        _(
            "A learnt vector, the class token, goes before the patches: what gathers in it is what the answer is read from. "
            "Then each token gets its position, sines and cosines times {scale}; without them the patches could be shuffled and "
            "nothing would change."
        ).format(scale=number(config.position_scale, 1))
    )
    content = walk.content(place.token)
    position, both = walk.positions[place.token], walk.tokens[place.token]
    equation_here(
        rf"z_i = e_i + s\,PE_i, \quad s = {tex(config.position_scale, 1)}",
        rf"\begin{{aligned}} e &= {_row(content)} \\ s\,PE &= {_row(position)} \\ z &= {_row(both)} \end{{aligned}}",
    )
    _vectors(
        {
            _("{name}: content").format(name=place.name): content,
            _("Its position"): position,
            _("Their sum, which enters the first layer"): both,
        },
        "tokens_sum",
    )
    st.markdown(_("**The whole sequence**: {count} tokens of {d} channels").format(count=len(walk.tokens), d=config.width))
    live_plot(
        figures.sequence_figure(walk.tokens, token=place.token),
        key="tokens_sequence",
        height=380,
        filename="tokens",
        alt=_("All tokens with their channels, the chosen one framed."),
    )


def layer(place: Place) -> None:
    """One token through the layer: attention, residual, norm, feed-forward, residual, norm."""
    config, walk = place.classifier.config, place.walk
    one = walk.layers[place.layer]
    st.markdown(
        _(
            "The weights mix the values of all tokens; the {heads} heads' results, beside each other, go through one more "
            "matrix. That is added to what came in and normed; then the feed-forward network's output is added and normed again. "
            "The next layer takes over: {layers} in all."
        ).format(heads=config.heads, layers=config.layers)
    )
    mixed = one.heads[place.head, place.token]
    equation_here(
        r"\begin{aligned} h_i &= \textstyle\sum_j a_{ij} v_j \\ y &= \mathrm{LN}(x + W_O [h^1 \dots h^H]) \\ "
        r"z &= \mathrm{LN}(y + \mathrm{FFN}(y)) \end{aligned}",
        rf"h_{{{place.token}}} = {_row(mixed)}",
        note=_("What head {head} mixed for this token.").format(head=place.head + 1),
    )
    names = {
        "entered": _("x: what came in"),
        "attended": _("What attention adds"),
        "normed": _("y: summed and normed"),
        "forwarded": _("What the feed-forward network adds"),
        "left": _("z: summed and normed, what goes on"),
    }
    _vectors({names[name]: vector for name, vector in walk.stations(place.token, place.layer).items()}, "tokens_stations")


def classes(place: Place) -> None:
    """The class token after the last layer, its ten logits, and their softmax at the calibration's temperature."""
    walk, one = place.walk, place.classifier
    names = [_(name) for name in one.class_names]
    best = int(walk.logits.argmax())
    st.markdown(
        _(
            "The class token of the last layer, and it alone, goes through one matrix: a score a class. The softmax makes "
            "probabilities of them, at the temperature that made confidence and accuracy agree on the validation images."
        )
    )
    if one.model.mirrored:
        st.markdown(_("This model's answer is the mean of these scores and of those of the mirror image."))
    logit = float(walk.logits[best])
    powers, probabilities, total = walkthrough.softmax_table(walk.logits / walk.temperature)
    equation_here(
        r"p_c = \frac{e^{(l_c - \max l) / T}}{\sum_k e^{(l_k - \max l) / T}}",
        rf"p_{{{best + 1}}} = \frac{{{tex(float(powers[best]), 0)}}}{{{tex(total, 4)}}} = {tex(float(probabilities[best]), 4)}",
        note=_("{name}: logit {logit}, temperature {temperature}, probability {share}.").format(
            name=names[best],
            logit=number(logit, 3),
            temperature=number(walk.temperature, 3),
            share=percent(float(walk.probabilities[best])),
        ),
    )
    live_plot(
        figures.classes_figure(names, walk.logits, walk.probabilities),
        key="tokens_classes",
        height=360,
        filename="classes",
        alt=_("A score and a probability for each class."),
    )
    _vectors({_("The class token after the last layer"): walk.layers[-1].left[0]}, "tokens_final")


def _row(vector: Any) -> str:
    """A vector's first entries and its last, for an equation."""
    return tex_row(vector.tolist(), most=5)


def _vectors(vectors: dict[str, Any], key: str, chosen: int | None = None) -> None:
    figure = figures.vectors_figure(vectors, chosen=chosen)
    alt = _("Channels: {names}").format(names="; ".join(vectors))
    live_plot(figure, key=key, height=int(figure.layout.height), filename=key.replace("_", "-"), alt=alt)


def _grid(values: Any, key: str, alt: str, *, grey: bool = False, digits: int = 2, height: int = 260) -> None:
    def write(value: float) -> str:
        return number(value, digits) if digits == 0 else significant(value, digits)

    live_plot(
        figures.numbers_figure(values, grey=grey, write=write, height=height),
        key=key,
        height=height,
        alt=alt,
        filename=key.replace("_", "-"),
    )


def draw_steps(classifier: Classifier, image: Bytes) -> None:
    """The steps of the forward pass for one image, one at a time."""
    walk, names = cached_results.walk(classifier, image), _stages()
    titles = {code: title for code, (title, _show) in names.items()}
    stage = url_state.choice(st.segmented_control, _("Step"), titles, key="stage", required=True)
    left, right = st.columns([2, 5])
    with left:
        place = _place(classifier, image, with_head=stage == "layer")
    with right:
        title, draw = names[stage]
        st.header(title, anchor=False)
        draw(Place(classifier=classifier, image=image, walk=walk, **place))


def _stages() -> dict[str, tuple[str, Callable[[Place], None]]]:
    return {
        "patches": (_("1. Patches"), patches),
        "embedding": (_("2. Embedding"), embedding),
        "positions": (_("3. Class token and positions"), positions),
        "layer": (_("4. Through a layer"), layer),
        "classes": (_("5. Classes"), classes),
    }


def _place(classifier: Classifier, image: Bytes, *, with_head: bool) -> dict[str, int]:
    """The chosen patch, layer and head."""
    grid = classifier.config.grid
    tokens = {str(i): token_name(i) for i in (*range(1, grid**2 + 1), 0)}
    middle = str(grid * (grid // 2) + grid // 2 + 1)

    def clicked(point: Point) -> None:
        if patch := patch_clicked(point, classifier):
            st.session_state["patch"] = str(patch)

    token = int(url_state.choice(st.selectbox, _("Token (or click a patch)"), tokens, key="patch", default=middle))
    live_plot(
        picture_figures.patches_figure(image, patch=classifier.config.patch, outlined=token - 1 if token else None, height=300),
        key="tokens_picture",
        height=300,
        on_click=clicked,
        filename="picture",
        alt=_("The picture cut into its patches; a click chooses one."),
    )
    layers = {str(i + 1): number(i + 1) for i in range(classifier.config.layers)}
    heads = {str(i + 1): number(i + 1) for i in range(classifier.config.heads)}
    layer = head = 0
    if with_head:
        layer = int(url_state.choice(st.selectbox, _("Layer"), layers, key="nlayer")) - 1
        head = int(url_state.choice(st.selectbox, _("Head"), heads, key="nhead")) - 1
    return {"token": token, "layer": layer, "head": head}
