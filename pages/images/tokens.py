"""Steps from patches to tokens to classes: the forward pass of the ViT for one image, step by step, with this image's numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.figures import pictures as picture_figures
from core.figures.matrix import MAX_COLUMNS, Matrix, matrix_figure, matrix_html
from core.vision import walkthrough
from core.vision.analysis import CLASS_TOKEN
from core.vision.classifier import Classifier
from core.vision.pictures import Bytes
from core.vision.walkthrough import ViTWalkthrough
from pages.images import cached_results
from pages.learn.frame import equation_here, tex, tex_row
from pages.shared import url_state
from pages.shared.language import _, number, percent
from pages.shared.live_plot import live_plot

SMALL = 16
"""Numbers of a patch up to which three grids of them stand beside each other."""


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
    return _("the class token").capitalize() if token == CLASS_TOKEN else _("Patch {number}").format(number=number(token))


def patches(place: Place) -> None:
    """The grid, and one patch as pixels and as the numbers that the embedding reads."""
    one, walk = place.classifier, place.walk
    config, convolved = one.config, one.model.convolutional
    values = walk.patches.shape[-1]
    sentence = _("{grid} x {grid} = {count} patches of {p} x {p} pixels, each read as {values} numbers.")
    st.markdown(sentence.format(grid=config.grid, count=config.patches, p=config.patch, values=values))
    if not place.token:
        st.info(_("The class token is learnt as it is: choose a patch."))
        return
    pixels, units = walkthrough.tiles(place.image, config.patch)[place.token - 1], walk.patches[place.token - 1]
    left, right = st.columns(2)
    with left:
        if convolved:
            st.image(picture_figures.fitted_png(pixels, side=224), caption=_("The patch"), alt=_("The patch"))
        else:
            _show(Matrix(values=pixels, name=_("Grey levels, 0 to 255"), signed=False, top=255, digits=0), "tokens_grey")
    with right:
        name = _("What the convolutions make of it") if convolved else _("What the model reads, in standard deviations")
        _show(_grid(units, name), "tokens_units")
    if not convolved:
        row, column = divmod(int(pixels.argmax()), config.patch)
        equation_here(
            r"x = \frac{g / 255 - \mu}{\sigma}",
            rf"x = \frac{{{int(pixels.max())} / 255 - {tex(one.mean, 4)}}}{{{tex(one.std, 4)}}} = {tex(float(units.max()), 4)}",
            note=_("The patch's brightest pixel, in row {row} and column {column}.").format(row=row + 1, column=column + 1),
        )


def embedding(place: Place) -> None:
    """The embedding of one channel by hand, then of all."""
    config, walk = place.classifier.config, place.walk
    st.markdown(
        _("One matrix, the same for every patch, makes {d} channels of a patch's {values} numbers.").format(
            d=config.width, values=walk.patches.shape[-1]
        )
    )
    if not place.token:
        st.info(_("The class token is learnt as it is: choose a patch."))
        return
    patch = place.token - 1
    channel = url_state.slider(_("Channel to work out"), 1, config.width, key="byhand", default=1) - 1
    pieces = walk.contribution(patch, channel)
    total, bias, whole = float(pieces.sum()), float(walk.bias[channel]), float(walk.embedded[patch, channel])
    equation_here(
        r"e_c = \sum_{i} W_{c,i}\, x_i + b_c",
        rf"e_{{{channel + 1}}} = {tex(total, 4)} {'+' if bias >= 0 else '-'} {tex(abs(bias), 4)} = {tex(whole, 4)}",
    )
    for cell, name, values, key in zip(
        st.columns(3) if len(pieces) <= SMALL else [st.container(), st.container(), st.container()],
        (_("The patch") + ", x", _("The channel's weights, W"), _("Products, to be summed")),
        (walk.patches[patch], walk.weight[channel], pieces),
        ("tokens_x", "tokens_w", "tokens_wx"),
        strict=True,
    ):
        with cell:
            _show(_grid(values, name), key)
    name = _("Embedding of {name}, all channels").format(name=place.name)
    _show(
        Matrix(values=walk.embedded[patch][None], name=name, rows=["e"], outlined=((0, 0, channel, channel),)), "tokens_embedded"
    )


def positions(place: Place) -> None:
    """The class token before the patches, and positions of a tenth added."""
    config, walk = place.classifier.config, place.walk
    st.markdown(
        _("A learnt vector, the class token, goes before the patches; each token gets its position, times {scale}.").format(
            scale=number(config.position_scale, 1)
        )
    )
    vectors = [walk.content(place.token), walk.positions[place.token], walk.tokens[place.token]]
    content, position, both = (tex_row(one.tolist(), most=5) for one in vectors)
    equation_here(
        rf"z_i = e_i + s\,PE_i, \quad s = {tex(config.position_scale, 1)}",
        rf"\begin{{aligned}} e &= {content} \\ s\,PE &= {position} \\ z &= {both} \end{{aligned}}",
    )
    name = _("The whole sequence: {count} tokens of {d} channels").format(count=len(walk.tokens), d=config.width)
    row = (place.token, place.token, 0, config.width - 1)
    tokens = [str(i) for i in range(len(walk.tokens))]
    _show(
        Matrix(values=walk.tokens, name=name, rows=tokens, y_title=_("Token (0: the class token)"), outlined=(row,)), "tokens_sum"
    )


def layer(place: Place) -> None:
    """One token through the layer: attention, residual, norm, feed-forward, residual, norm."""
    config, walk = place.classifier.config, place.walk
    sentence = _("{layers} layers of {heads} heads: what each adds is summed and normed.")
    st.markdown(sentence.format(heads=config.heads, layers=config.layers))
    mixed = walk.mixed(place.token, place.layer, place.head, config.heads)
    equation_here(
        r"\begin{aligned} h_i &= \textstyle\sum_j a_{ij} v_j \\ y &= \mathrm{LN}(x + W_O [h^1 \dots h^H]) \\ "
        r"z &= \mathrm{LN}(y + \mathrm{FFN}(y)) \end{aligned}",
        rf"h_{{{place.token}}} = {tex_row(mixed.tolist(), most=5)}",
        note=_("What head {head} mixed for this token.").format(head=place.head + 1),
    )
    names = [
        _("x: what came in"),
        _("What attention adds"),
        _("y: summed and normed"),
        _("What the feed-forward network adds"),
        _("z: summed and normed, what goes on"),
    ]
    _show(Matrix(values=walk.stations(place.token, place.layer), name=place.name, rows=names), "tokens_stations")


def classes(place: Place) -> None:
    """The class token after the last layer, its ten logits, and their softmax at the calibration's temperature."""
    walk, one = place.walk, place.classifier
    names = [_(name) for name in one.class_names]
    best = int(walk.logits.argmax())
    st.markdown(_("The class token of the last layer, and it alone, goes through one matrix: a score a class."))
    if one.model.mirrored:
        st.markdown(_("This model's answer is the mean of these scores and of those of the mirror image."))
    scaled = walk.scaled
    total, share = float(scaled.sum()), float(scaled[best] / scaled.sum())
    equation_here(
        r"p_c = \frac{e^{(l_c - \max l) / T}}{\sum_k e^{(l_k - \max l) / T}}",
        rf"p_{{{best + 1}}} = \frac{{{tex(float(scaled[best]), 0)}}}{{{tex(total, 4)}}} = {tex(share, 4)}",
        note=_("{name}: logit {logit}, temperature {temperature}, probability {share}.").format(
            name=names[best],
            logit=number(float(walk.logits[best]), 3),
            temperature=number(walk.temperature, 3),
            share=percent(share),
        ),
    )
    for key, name, values, digits in (
        ("tokens_logits", "Logits, l", walk.logits, 2),
        ("tokens_probabilities", _("Probabilities") + ", p", scaled / total, 4),
    ):
        _show(Matrix(values=values[None], name=name, rows=[""], columns=names, digits=digits), key)


def _grid(values: Any, name: str) -> Matrix:
    """A patch's numbers in rows: the most nearly square."""
    rows = max(rows for rows in range(1, int(len(values) ** 0.5) + 1) if len(values) % rows == 0)
    return Matrix(values=values.reshape(rows, -1), name=name)


def _show(matrix: Matrix, key: str) -> None:
    """A table, or a heat map of what has more columns."""
    if matrix.values.shape[1] > MAX_COLUMNS:
        live_plot(matrix_figure(matrix, height=110 + 6 * len(matrix.values)), key=key, alt=matrix.name)
    else:
        st.html(matrix_html(matrix, key=key, alt=matrix.name, write=lambda value, digits: number(value, digits)))


def draw_steps(classifier: Classifier, image: Bytes) -> None:
    """The steps of the forward pass for one image, one at a time."""
    names: dict[str, tuple[str, Callable[[Place], None]]] = {
        "patches": ("1. " + _("Patches"), patches),
        "embedding": ("2. Embedding", embedding),
        "positions": (_("3. Class token and positions"), positions),
        "layer": (_("4. Through a layer"), layer),
        "classes": (_("5. Classes"), classes),
    }
    titles = {code: title for code, (title, _draw) in names.items()}
    stage = url_state.choice(st.segmented_control, _("Step"), titles, key="stage")
    left, right = st.columns([2, 5])
    with left:
        place = _place(classifier, image, with_head=stage == "layer")
    with right:
        title, draw = names[stage]
        st.header(title, anchor=False)
        draw(Place(classifier=classifier, image=image, walk=cached_results.walk(classifier, image), **place))


def _place(classifier: Classifier, image: Bytes, *, with_head: bool) -> dict[str, int]:
    """The chosen patch, framed in the picture, layer and head."""
    config = classifier.config
    grid, layer, head = config.grid, 0, 0
    tokens = {str(i): token_name(i) for i in (*range(1, grid**2 + 1), 0)}
    middle = str(grid * (grid // 2) + grid // 2 + 1)
    token = int(url_state.choice(st.selectbox, _("Token"), tokens, key="patch", default=middle))
    row, column = divmod(token - 1, grid)
    frame = [100 / grid * edge for edge in (column, row, column + 1, row + 1)]
    shown = picture_figures.framed_png(image, [frame] if token else [], side=300)
    st.image(shown, alt=_("The picture with the patch framed."))
    if with_head:
        layers, heads = ({str(i + 1): number(i + 1) for i in range(count)} for count in (config.layers, config.heads))
        layer = int(url_state.choice(st.selectbox, _("Layer"), layers, key="nlayer")) - 1
        head = int(url_state.choice(st.selectbox, _("Head"), heads, key="nhead")) - 1
    return {"token": token, "layer": layer, "head": head}
