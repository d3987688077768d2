"""Positional encoding: the matrix, its waves, likeness by distance, a shift as a rotation, scale, the report's listing."""

from __future__ import annotations

from collections.abc import Callable
from operator import truediv
from typing import Any, Final

import plotly.graph_objects as go
import streamlit as st

from core.checkpoints import CheckpointError, names
from core.figures.learn import positions as figures
from core.figures.learn.diagrams.positions import positions_diagram
from core.figures.matrix import Matrix, matrix_figure
from core.lecture import attention_steps, claims, notebooks, permutation, positions, tokens
from core.lecture.claims import positions as said
from core.lecture.shown_digits import digits_needed, flat
from core.market.book import read_rows
from core.market.predictor import load_predictor
from core.market.store.index import recordings
from core.messages import Message
from pages.learn import diagram, frame, position_choices, predict, questions, what_moved
from pages.learn.frame import tex
from pages.learn.position_choices import PositionChoices
from pages.learn.predict import Question
from pages.shared import controls, url_state
from pages.shared.language import _, number, percent, significant
from pages.shared.live_plot import static_plot
from pages.shared.stat_strip import Stat, stat_strip

PAGE: Final = "positions"
ORDER: Final = [3, 4, 2, 0, 1]
"""The words' new order on the part without positions."""
PASSAGES: Final = ("matrix_learned", "waves", "similarity", "similarity_learned", "rotation", "rotation_learned", "scale")
"""Names of the passages for a part in each of its states."""
Shown = tuple[dict[str, Any], list[Message]]
"""Values for the notebook, and what can be said of the figure."""
OMEGA: Final = r"\omega_i = \mathrm{base}^{-2i/D}"
"""The pace of a pair of channels, radians a position."""


def large_matrix(
    values: Any,
    name: str,
    *,
    row: int | None = None,
    signed: bool = True,
    height: int = 400,
    square: bool = False,
    channels: bool = False,
) -> go.Figure:
    """A large matrix without numbers: positions down, and across positions (square) or channels.

    Args:
        row: row that is outlined. channels: channels down, too.
    """
    return matrix_figure(
        Matrix(
            values=values,
            name=name,
            rows=[str(index) for index in range(values.shape[0])],
            columns=[str(index) for index in range(values.shape[1])],
            x_title=_("Position") if square else _("Channel"),
            y_title=_("Channel") if channels else _("Position"),
            signed=signed,
            outlined=() if row is None else ((row, row, 0, values.shape[1] - 1),),
        ),
        numbers=False,
        height=height,
    )


@st.cache_data(show_spinner=False)
def _tlob_content() -> tuple[Any, str]:
    """The first whole window of the first recording as the shipped TLOB embeds it, and the recording's symbol."""
    predictor, recording = load_predictor(), recordings()[0]
    window = read_rows(recording.path).levels[: predictor.window]
    market = predictor.market(recording.name)
    return positions.tlob_content(predictor.model, predictor.inputs(window[None], market)), recording.market


@st.cache_data(show_spinner=False)
def _vit_content() -> Any:
    """The first bundled garment as the shipped ViT embeds it, the class token first."""
    from core.vision.classifier import load_classifier  # only where it is asked for
    from core.vision.gallery import gallery

    classifier = load_classifier()
    return positions.vit_content(classifier.model, classifier.normalise(gallery()[0][:1]))


def scale(chosen: PositionChoices) -> Shown:
    """X + s PE: the size of the position beside that of the content."""
    if chosen.content == "tlob":
        content, market = _tlob_content()
        source = _("Content: the first window of {market}, after BiN and embedding of the shipped TLOB.").format(market=market)
    elif chosen.content == "vit":
        content = _vit_content()
        source = _(
            "Content: the first bundled garment as the shipped ViT embeds it, class token first; it was trained with s = 0.1."
        )
    else:
        content = positions.random_embeddings(position_choices.LENGTH, position_choices.WIDTH)
        source = _("Content: numbers from N(0, 1), as `nn.Embedding` starts; nothing here was trained.")
    places = positions.encoding(*content.shape, scale=chosen.scale)
    found = positions.balance(content, places)
    top, bottom = positions.root_mean_square(places), positions.root_mean_square(content)
    digits = digits_needed(truediv, top, bottom, result=3)
    frame.equation(
        r"X_{pe} = X + s \cdot PE, \qquad \frac{\mathrm{rms}(s\,PE)}{\mathrm{rms}(X)}",
        rf"s = {tex(chosen.scale, 2)}: \quad \frac{{{tex(top, digits)}}}{{{tex(bottom, digits)}}} = {tex(found.ratio, 3)}",
        note=_("Root mean squares over all positions and channels."),
    )
    left, right = st.columns(2)
    with left:
        static_plot(
            figures.balance_figure(found.content, found.position),
            key="pe_balance",
            alt=_("Root mean square of the content and of the scaled encoding, along the positions."),
        )
        st.caption(source)
        st.markdown(_("The encoding is {share} of the content in size.").format(share=percent(found.ratio)))
    with right:
        static_plot(
            large_matrix(found.cosines, _("Cosine similarity of the rows of X + s PE"), height=420, square=True),
            key="pe_cosines",
            alt=_("Cosine similarity of every two rows of content plus positions."),
        )
    length, width = content.shape
    shown = notebooks.on_screen({"ratio": found.ratio})
    size = {"LENGTH": length, "WIDTH": width, "BASE": 10_000.0, "SCALE": chosen.scale, "RMS_OF_CONTENT": bottom}
    without_places = positions.balance(content, 0 * places)
    return size | shown, claims.told(said.SCALE, (without_places, found))


def shuffled_words(*, with_positions: bool) -> permutation.Shuffle:
    """Five words through one untrained attention layer, in order and shuffled."""
    x = tokens.embed(_(permutation.SENTENCE).split(), 8)
    return permutation.shuffle(x, attention_steps.random_weights(8), ORDER, positions=with_positions)


def pick_kind() -> str:
    """The choice between the formula and the positions of a shipped model."""
    kinds = {"sinusoidal": _("Sinusoidal"), "tlob": _("TLOB's, learned")}
    if names("vit"):
        kinds["vit"] = _("ViT's, sinusoidal × 0.1")
    return url_state.choice(st.segmented_control, _("Encoding"), kinds, key="pe", required=True)


def choose(which: str) -> PositionChoices:
    """Show the dials of a part and return what they say."""
    kind = "sinusoidal"
    if which in ("matrix", "waves", "similarity", "rotation"):
        with frame.controls_block("kind"):
            kind = pick_kind()
    shipped = positions.shipped(kind) if kind != "sinusoidal" else None
    offered, first = position_choices.dials_of(which, shipped)
    return PositionChoices.of(kind, shipped, frame.dials("dial", offered, first=first))


def matrix(chosen: PositionChoices) -> Shown:
    """The whole encoding, and one entry of it calculated."""
    if chosen.sinusoidal:
        one = chosen.entry()
        s = tex(chosen.scale, 1) + r"\," if chosen.scale != 1 else ""
        digits = digits_needed(positions.wave_pair, one.angle, chosen.scale, result=4)
        frame.equation(
            rf"PE_{{pos,2i}} = {'s' if s else ''}\sin\frac{{pos}}{{\mathrm{{base}}^{{2i/D}}}} \qquad "
            rf"PE_{{pos,2i+1}} = {'s' if s else ''}\cos\frac{{pos}}{{\mathrm{{base}}^{{2i/D}}}}",
            rf"\begin{{aligned}} PE_{{{chosen.pos},{2 * chosen.pair}}} &= {s}\sin\frac{{{chosen.pos}}}"
            rf"{{{tex(chosen.base, 0)}^{{{2 * chosen.pair}/{chosen.width}}}}} "
            rf"= {s}\sin {tex(one.angle, digits)} = {tex(one.sine, 4)} \\ "
            rf"PE_{{{chosen.pos},{2 * chosen.pair + 1}}} &= {s}\cos {tex(one.angle, digits)} = "
            rf"{tex(one.cosine, 4)} \end{{aligned}}",
            note=_("Angles in radians; channels are counted from 0."),
        )
    else:
        frame.equation(
            r"X_{pe} = X + PE, \qquad PE \in \mathbb{R}^{T \times D} \text{ trained}",
            rf"PE_{{{chosen.pos}}} = " + frame.tex_row(chosen.matrix[chosen.pos]),
            note=_("Row {number} of the shipped TLOB's positions.").format(number=chosen.pos),
        )
    static_plot(
        large_matrix(chosen.matrix, _("PE"), row=chosen.pos, height=430),
        key="pe_matrix",
        alt=_("The encoding as a heatmap: positions down, channels across."),
    )
    names = [str(index) for index in range(chosen.length)]
    moved = what_moved.track("encoding", chosen.matrix, rows=names)
    what_moved.tell("encoding", moved, rows=[_("position {n}").format(n=name) for name in names])
    still = positions.still_channels(chosen.matrix)
    stat_strip(
        [
            Stat(name=_("Positions × channels"), value=f"{chosen.length} × {chosen.width}"),
            Stat(name=_("Channels that hardly change"), value=number(still), note=_("they span under 1 % of the largest span")),
            Stat(name=_("Root mean square"), value=significant(chosen.spread)),
        ]
    )
    return {}, claims.told(said.MATRIX, chosen.encoded)


def waves(chosen: PositionChoices) -> Shown:
    """A pair and its neighbours along the positions."""
    if chosen.sinusoidal:
        one = chosen.entry()
        frame.equation(
            rf"{OMEGA}, \qquad \Lambda_i = \frac{{2\pi}}{{\omega_i}}",
            rf"\omega_{{{chosen.pair}}} = {tex(chosen.base, 0)}^{{-{2 * chosen.pair}/{chosen.width}}} = {tex(one.frequency, 5)}, "
            rf"\qquad \Lambda_{{{chosen.pair}}} = {tex(one.wavelength, 1)}",
            note=_("Wavelength in positions; the sequence has {number} of them.").format(number=chosen.length),
        )
    else:
        frame.equation(r"PE_{pos,j}, \quad j = 2i,\ 2i+1", rf"j = {2 * chosen.pair},\ {2 * chosen.pair + 1}")
    shown = [channel for channel in (2 * chosen.pair, 2 * chosen.pair + 1, 2 * chosen.pair + 2) if channel < chosen.width]
    static_plot(
        figures.waves_figure(chosen.matrix, shown),
        key="pe_waves",
        alt=_("Three channels of the encoding along the positions."),
    )
    return {}, claims.told(said.WAVES, chosen.encoded)


def similarity(chosen: PositionChoices) -> Shown:
    """Dot product and distance of every two positions, and one row of each as a curve."""
    products, apart = positions.dot_products(chosen.matrix), positions.distances(chosen.matrix)
    other = chosen.other
    scale = "s^2" if chosen.scale != 1 else ""
    cosines = rf"PE_{{pos}} \cdot PE_{{pos'}} = {scale}\sum_i \cos\big((pos-pos')\,\omega_i\big), \quad {OMEGA}"
    formula = cosines if chosen.sinusoidal else r"PE_{pos} \cdot PE_{pos'} = \sum_j PE_{pos,j} PE_{pos',j}"
    frame.equation(
        formula,
        rf"PE_{{{chosen.pos}}} \cdot PE_{{{other}}} = {tex(products[chosen.pos, other], 3)}, \qquad "
        rf"\lVert PE_{{{chosen.pos}}} - PE_{{{other}}} \rVert = {tex(apart[chosen.pos, other], 3)}",
    )
    left, right = st.columns(2)
    for column, values, name, key, signed in (
        (left, products, _("Dot product"), "pe_dot", True),
        (right, apart, _("Distance"), "pe_distance", False),
    ):
        with column:
            static_plot(
                large_matrix(values, name, row=chosen.pos, signed=signed, height=400, square=True),
                key=key,
                alt=_("{what} of every two positions, a heatmap.").format(what=name),
            )
    lines = [(_("dot product with position {number}").format(number=chosen.pos), products[chosen.pos])]
    if chosen.sinusoidal:
        lines.append((_("the sum of cosines"), chosen.cosine_sums()))
    static_plot(
        figures.from_one_figure(lines, at=chosen.pos, y_title=_("Dot product")),
        key="pe_curve",
        alt=_("The dot product of one position with all others."),
    )
    return {}, claims.told(said.SIMILARITY, chosen.encoded)


def rotation(chosen: PositionChoices) -> Shown:
    """PE(pos + k) = M PE(pos): the block with numbers, its residual, and the rotation on a circle."""
    i, k, pos = chosen.pair, chosen.shift, chosen.pos
    symbols = (
        r"\begin{bmatrix} PE_{pos+k,2i} \\ PE_{pos+k,2i+1} \end{bmatrix} = \begin{bmatrix} \cos k\omega_i & \sin k\omega_i \\ "
        r"-\sin k\omega_i & \cos k\omega_i \end{bmatrix} \begin{bmatrix} PE_{pos,2i} \\ PE_{pos,2i+1} \end{bmatrix}"
        rf", \quad {OMEGA}"
    )
    found = chosen.moved()
    block = found.matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2]
    here, there = chosen.matrix[pos, 2 * i : 2 * i + 2], chosen.matrix[pos + k, 2 * i : 2 * i + 2]
    turned = found.turned(chosen.matrix, pos)[2 * i : 2 * i + 2]
    if chosen.sinusoidal:
        digits = digits_needed(positions.turned_pair, *flat(block, here), result=3)
        column = frame.tex_matrix([[value] for value in here], digits)
        result = frame.tex_matrix([[value] for value in turned], 3)
        frame.equation(
            symbols,
            rf"{frame.tex_matrix(block, digits)} {column} = {result}",
            note=_(
                "Pair {pair} of position {first}, turned by {shift} steps. Position {second} itself has {sine} and {cosine}."
            ).format(first=pos, shift=k, second=pos + k, pair=i, sine=number(there[0], 3), cosine=number(there[1], 3)),
        )
        frame.check(
            _("Largest residual over all positions and channels: {value}, which is rounding error.").format(
                value=f"{found.largest:.1e}"
            ),
            holds=found.largest < 1e-5,
        )
    else:
        frame.equation(
            r"M = \arg\min_M \sum_{pos} \lVert PE_{pos+k} - M\,PE_{pos} \rVert^2",
            rf"\frac{{\lVert PE_{{+{k}}} - M\,PE \rVert}}{{\lVert PE_{{+{k}}} \rVert}} = {tex(found.share, 3)}",
        )
        frame.check(
            _(
                "The best matrix for a shift of {shift} leaves {share} of the learned encoding unexplained: it is no rotation."
            ).format(shift=k, share=percent(found.share)),
            holds=False,
        )
    left, right = st.columns(2)
    with left:
        static_plot(
            figures.turn_figure(chosen.matrix[:, 2 * i : 2 * i + 2], at=pos, shift=k, turned=turned),
            key="pe_turn",
            alt=_("One pair of channels on a circle: a position, and where the matrix turns it."),
        )
    with right:
        static_plot(
            large_matrix(found.matrix, _("M for k = {number}").format(number=k), height=400, channels=True),
            key="pe_rotation",
            alt=_("The matrix that shifts positions: blocks of two along its diagonal where it is a rotation."),
        )
    return {}, claims.told(said.ROTATION, found)


def exponent(chosen: PositionChoices) -> Shown:
    """The standard form and the report's listing side by side (D11)."""
    both = {
        doubled: positions.encoding(chosen.length, chosen.width, base=chosen.base, doubled_exponent=doubled)
        for doubled in (False, True)
    }
    last = chosen.width // 2 - 1
    ends = {doubled: positions.entry(1, last, chosen.width, base=chosen.base, doubled_exponent=doubled) for doubled in both}
    frame.equation(
        r"\text{standard: } \frac{pos}{\mathrm{base}^{2i/D}} \qquad "
        r"\text{listing: } \frac{pos}{\mathrm{base}^{2(2i)/D}} = \frac{pos}{(\mathrm{base}^2)^{2i/D}}",
        rf"\Lambda_{{{last}}} = {tex(ends[False].wavelength, 0)} \qquad \Lambda'_{{{last}}} = {tex(ends[True].wavelength, 0)}",
        note=_("Wavelength of the last pair, in positions; the sequence has {number}.").format(number=chosen.length),
    )
    for column, (doubled, values) in zip(st.columns(2), both.items(), strict=True):
        with column:
            static_plot(
                large_matrix(values, _("The report's listing") if doubled else _("Standard"), height=400),
                key=f"pe_{'doubled' if doubled else 'standard'}",
                alt=_("The encoding as a heatmap: positions down, channels across."),
            )
            st.caption(
                _("{count} of {all} channels hardly change.").format(count=positions.still_channels(values), all=chosen.width)
            )
    waves_at_the_end = [ends[doubled].wavelength for doubled in (False, True)]
    still = [positions.still_channels(both[doubled]) for doubled in (False, True)]
    forms = said.Exponents(standard=both[False], doubled=both[True], base=chosen.base)
    shown = notebooks.on_screen({"last wavelengths": waves_at_the_end, "channels that hardly change": still})
    return shown, claims.told(said.EXPONENT, forms)


def without(chosen: PositionChoices) -> Shown:
    """Shuffled rows with and without positions; see also the page on permutation."""
    found = shuffled_words(with_positions=chosen.with_positions)
    frame.equation(
        r"X' = PX \;\Rightarrow\; Z' = PZ \quad \text{(no positions)}",
        rf"\max \lvert Z' - PZ \rvert = {tex(found.rows, 6)}",
    )
    frame.check(
        _("The outputs are the same rows, shuffled (largest deviation {value}).").format(value=f"{found.rows:.1e}")
        if found.equivariant
        else _("The outputs are other rows: the largest deviation is {value}.").format(value=significant(found.rows)),
        holds=found.equivariant,
    )
    words = _(permutation.SENTENCE).split()
    names = tokens.unique_names(words)
    shuffled = [names[index] for index in ORDER]
    channels = [str(index) for index in range(found.moved.shape[1])]
    for column, (code, title, rows, values) in zip(
        st.columns(3),
        (
            ("z", _("Z, in order"), names, found.before.joined),
            ("pz", _("PZ, those rows shuffled"), shuffled, found.moved),
            ("after", _("Z', of the shuffled words"), shuffled, found.after.joined),
        ),
        strict=True,
    ):
        with column:
            static_plot(
                matrix_figure(Matrix(values=values, name=title, rows=rows, columns=channels)),
                key=f"pe_without_{code}",
                alt=_("{what}: one row per word.").format(what=title),
            )
    language = f"?lang={st.query_params['lang']}" if "lang" in st.query_params else ""
    title = _("Order and permutation: shuffle the words yourself")
    st.markdown(f"[{title}](permutation{language})")
    weights = attention_steps.random_weights(8)
    layer = {"X": tokens.embed(words, 8), **{name: weights[name] for name in ("W_Q", "W_K", "W_V")}}
    shown = notebooks.on_screen({"largest |Z' - PZ|": found.rows})
    return layer | {"ORDER": ORDER, "WITH": chosen.with_positions} | shown, claims.told(said.WITHOUT, found)


def question(which: str, chosen: PositionChoices) -> Question | None:
    """Asks the question of this part."""
    if which in ("matrix", "waves", "exponent") and chosen.shipped is None:
        return questions.still(chosen.length, chosen.width, chosen.base, positions.still_channels(chosen.matrix))
    if which in ("matrix", "waves", "similarity", "rotation"):
        return questions.alike(chosen.matrix, chosen.pos, chosen.kind)
    return None


part = frame.open_page(
    PAGE,
    _("Positional encoding"),
    parts={
        "matrix": _("The matrix"),
        "waves": _("Waves"),
        "similarity": _("Near and far"),
        "rotation": _("A shift is a rotation"),
        "scale": _("Scale"),
        "exponent": _("Doubled exponent"),
        "without": _("Without it"),
    },
)

SHOW: Final[dict[str, Callable[[PositionChoices], Shown]]] = {
    "matrix": matrix,
    "waves": waves,
    "similarity": similarity,
    "rotation": rotation,
    "scale": scale,
    "exponent": exponent,
    "without": without,
}


def show_diagram(which: str, chosen: PositionChoices) -> None:
    """The lesson's diagram with this page's numbers."""
    drawn = positions_diagram(
        chosen.entry() if chosen.sinusoidal else None,
        pos=chosen.pos,
        pair=chosen.pair,
        size=(chosen.length, chosen.width),
        scale=chosen.scale,
        shift=chosen.shift,
        other=chosen.other,
        product=float(chosen.matrix[chosen.pos] @ chosen.matrix[chosen.other]),
        write=diagram.write,
    )
    diagram.show(drawn, dial="dial", only={"without": "positions"}.get(which, ""))


diagram.slot()
try:
    chosen = choose(part)
    show_diagram(part, chosen)
    predict.ask(lambda: question(part, chosen))
    shown, sentences = SHOW[part](chosen)
except CheckpointError as problem:
    controls.error_box(str(problem), remedy=_("Restore the files in assets/checkpoints, or train a model (see the README)."))
    frame.link_only()
    st.stop()
general = part if chosen.sinusoidal else f"{part}_learned"
frame.look_for(*([frame.passage(PAGE, general)] if general in PASSAGES else []), *sentences)
frame.close_page(
    PAGE,
    sources=_(
        "sequence-modelling (Arquitectura General), attention-notebook (positional encoding), iiga-equations 4, vit-report 2.1 "
        "(its listing: D11), tlob-architecture 2.4; Vaswani et al. 2017, section 3.5."
    ),
    values=chosen.taken(part) | shown,
)
