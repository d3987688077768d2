"""The encoder-decoder Transformer at work: a date as people write it, read symbol by symbol into ISO."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import streamlit as st

from core import checkpoints
from core.checkpoints import CheckpointError
from core.device import use_one_thread
from core.figures.learn import transformer as figures
from core.lecture import dates
from core.lecture.date_reader import DateReader, DateReading, ReadingError
from core.lecture.decoding import STEPS, inside_layer, sublayer_ratios
from core.lecture.notebooks import on_screen
from pages.learn import frame
from pages.learn.frame import Dial, Worked, choice, passage, slider, tex, tex_row
from pages.learn.lesson_page import (
    Drawn,
    Item,
    LessonPage,
    Part,
    PartView,
    Show,
    caption,
    markdown,
    plot,
    render,
    stats,
)
from pages.shared import controls, url_state
from pages.shared.attention_view import attention_view
from pages.shared.language import _, number, percent
from pages.shared.stat_strip import Stat

EXAMPLES: Final = ("3 de mayo de 1979", "sábado 3 mayo 1979", "May the 3rd, 1979", "03/04/1979", "Thu 3-may-79")
LATEX_SYMBOLS: Final = {" ": r"\sqcup", "■": r"\blacksquare", "▷": r"\triangleright", "�": "?", "␀": r"\varnothing"}

CROSS: Final = (
    r"\begin{gathered} Z = AV,\; A = \mathrm{softmax}\!\left(\frac{Q K^{\top}}{\sqrt{d_k}}\right) \\[4pt]"
    r"Q = N_1 W_Q,\; K = H W_K,\; V = H W_V \\[4pt]"
    r"P(y_t \mid y_{<t}, x) = \mathrm{softmax}(N_3 W_{out} + b_{out})_t \end{gathered}"
)
"""Cross-attention and the output layer (vit-report sections 2.6 and 2.9)."""
ENCODER: Final = (
    r"\begin{aligned} O &= \mathrm{MultiHead}(x, x, x) \\ N_1 &= \mathrm{LayerNorm}(x + O) \\"
    r"F &= \mathrm{FFN}(N_1) \\ N_2 &= \mathrm{LayerNorm}(N_1 + F) \end{aligned}"
)
DECODER: Final = (
    r"\begin{aligned} O_1 &= \mathrm{MultiHead}_{\text{causal}}(y, y, y) \\ N_1 &= \mathrm{LayerNorm}(y + O_1) \\"
    r"O_2 &= \mathrm{MultiHead}(N_1, H, H) \\ N_2 &= \mathrm{LayerNorm}(N_1 + O_2) \\"
    r"F &= \mathrm{FFN}(N_2) \\ N_3 &= \mathrm{LayerNorm}(N_2 + F) \end{aligned}"
)
"""The equations of one layer (vit-report sections 2.5 and 2.6)."""


def latex_symbol(character: str) -> str:
    """One symbol for LaTeX."""
    return LATEX_SYMBOLS.get(character, rf"\texttt{{{character}}}") if character.isascii() or character in LATEX_SYMBOLS else "?"


@st.cache_resource(show_spinner=False)
def _reader(folder: Path) -> DateReader:
    return DateReader(folder=folder)


def reader() -> DateReader:
    """The shipped model.

    Raises:
        CheckpointError: where it is missing or damaged.
    """
    return _reader(checkpoints.FOLDER)


@st.cache_data(show_spinner=False, max_entries=256)
def read(text: str) -> DateReading:
    """Greedy decoding with its maps and probabilities.

    Raises:
        ReadingError: for a text the model cannot take.
    """
    use_one_thread()
    return reader().read(text)


@st.cache_data(show_spinner=False, max_entries=512)
def relevance(text: str, step: int) -> Any:
    """Gradient times input, one number per character read."""
    return reader().relevance(read(text), step)


@st.cache_data(show_spinner=False, max_entries=256)
def inside(text: str, side: str, layer: int, position: int) -> dict[str, Any]:
    """The stages of one vector on its way through a layer, by the report's names."""
    one, trace = reader(), read(text).trace
    return one.placement.run(lambda: dict(inside_layer(one.model, trace, side, layer, position)))


def date_read(reading: DateReading) -> Show:
    """The answer, its probability and its least certain symbol."""
    least = int(reading.trace.answered.argmin())
    share = percent(float(reading.trace.answered[least]), 2)
    return stats(
        Stat(name=_("Answer"), value=reading.answer or "–", note=_("read as: {text}").format(text=reading.text)),
        Stat(name=_("Probability of the whole"), value=percent(reading.probability, 2)),
        Stat(
            name=_("Least sure symbol"),
            value=figures.visible([reading.characters[least]])[0],
            note=_("{share}, number {n}").format(share=share, n=least + 1),
        ),
        Stat(
            name=_("A date that exists"),
            value=_("yes") if reading.is_date else _("no"),
            tone="good" if reading.is_date else "warning",
        ),
    )


def unknown(reading: DateReading) -> Item:
    """Tells which characters the model does not know, if any."""
    told_of = _("The model has no symbol for {characters}: it reads a sign for “unknown” there.")
    return caption(told_of.format(characters=" ".join(reading.unknown))) if reading.unknown else None


def text_dial() -> Dial:
    """The text field for a date, with examples that fill it."""

    def draw(_values: object) -> str:
        text = url_state.text(_("A date, in English or Spanish"), key="date", default=EXAMPLES[0], max_chars=80)
        with st.container(horizontal=True, gap="xsmall"):
            for index, example in enumerate(EXAMPLES[1:], 1):
                st.button(example, key=f"date:example:{index}", on_click=st.session_state.update, args=({"date": example},))
        return text

    return Dial(_("Date"), draw)


def layer_dial() -> Dial:
    """The layer to look into."""
    last = reader().model.config.layers
    return choice(_("Layer"), frame.whole_numbers(*range(1, last + 1)), key="tf_layer", default=str(last), value=int)


def trained_on() -> int:
    """Dates that the weights were trained on, drawn one after another."""
    made: dict[str, int] = reader().card["training"]
    return made["batch"] * made["steps_per_epoch"] * (made["best_epoch"] + 1)


def reading_view(text: Annotated[str, text_dial()]) -> PartView:
    """The text with the answer below it, written symbol by symbol, in the light of every head."""
    reading = read(text)
    titles = {f"encoder {n}": _("Encoder {number}: the text itself") for n in (1, 2)}
    titles |= {f"decoder {n}": _("Decoder {number}: the answer so far") for n in (1, 2)}
    titles |= {f"cross {n}": _("Decoder {number}: the text") for n in (1, 2)}
    scene = reading.scene(titles={name: text.format(number=name[-1]) for name, text in titles.items()})
    return PartView(
        figure=[Drawn(lambda: attention_view(scene, key="light")), date_read(reading), unknown(reading)],
        more=[markdown(passage("transformer", "trained").format(samples=number(trained_on())))],
    )


def heads() -> dict[str, str]:
    """The heads, and their mean, by name on the page."""
    return {"mean": _("Mean")} | {str(index): str(index) for index in range(1, reader().model.config.heads + 1)}


def places(values: Mapping[str, Any]) -> int:
    """Symbols on a side, those of the answer where none is chosen."""
    reading = read(values["text"])
    return len(reading.text if values.get("side") == "encoder" else reading.characters)


def decode(
    text: Annotated[str, text_dial()],
    symbol: Annotated[int, slider(_("Symbol"), 1, places, key="symbol", default=STEPS)],
    layer: Annotated[int, layer_dial()],
    head: Annotated[str, choice(_("Head"), heads(), key="tf_head")],
) -> PartView:
    """Decoding step by step: the next symbols, and the cross-attention of a layer."""
    reading = read(text)
    step = min(symbol, len(reading.characters)) - 1
    every = reading.trace.maps[f"cross {layer}"]
    cross = every.mean(axis=0) if head == "mean" else every[int(head) - 1]
    characters, source = reading.characters, list(reading.text)
    chances = reading.trace.probabilities[step]
    seen = figures.cross_map(cross, source=source, target=characters, step=step)
    following = figures.next_figure(chances, dates.SYMBOLS, chosen=reading.trace.symbols[step])
    read_ = figures.reading_figure(cross[step], relevance(reading.text, step), source)
    alt = _("Attention of this symbol over the text, and gradient times input of each character.")
    so_far = _("So far: `{text}`, next: `{symbol}`").format(text="".join(characters[:step]) or "▷", symbol=characters[step])
    best = sorted(range(len(source)), key=lambda i: -cross[step][i])[:3]
    weights = r",\;".join(rf"A_{{{step + 1},{i + 1}}}({latex_symbol(source[i])}) = {tex(float(cross[step][i]))}" for i in best)
    probability, bits = float(chances[reading.trace.symbols[step]]), float(reading.trace.entropy[step])
    past = "".join(latex_symbol(one) for one in ("▷", *characters[:step]))
    note = _("the three characters looked at most; uncertainty before this symbol: {bits} bits")
    return PartView(
        equation=Worked(
            CROSS,
            rf"\begin{{gathered}} {weights} \\[4pt] P({latex_symbol(characters[step])} \mid {past}) = "
            rf"{tex(probability, 4)} \end{{gathered}}",
            note.format(bits=number(bits, 3)),
        ),
        figure=[
            [
                plot(seen, "cross_map", _("Which characters of the text each answered symbol looked at.")),
                plot(following, "next_symbols", _("The likeliest next symbols and their probabilities."), height=440),
            ],
            date_read(reading),
            unknown(reading),
            markdown(so_far),
        ],
        more=[
            plot(read_, "reading", alt, height=330),
            markdown(passage("transformer", "weights")),
            caption(_("Answered by {model}.").format(model=f"Transformer, {controls.computed_on(reader())}") + " " + scored()),
            markdown(passage("transformer", "conventions")),
        ],
        asked=lambda: (_("the largest weight of this symbol over the text"), float(cross[step].max())),
    )


def layer(
    text: Annotated[str, text_dial()],
    side: Annotated[str, choice(_("Side"), {"encoder": _("encoder").capitalize(), "decoder": _("Decoder")}, key="tf_side")],
    position: Annotated[int, slider(_("Position"), 1, places, key="tf_place", default=1)],
    layer: Annotated[int, layer_dial()],
) -> PartView:
    """One vector on its way through an encoder or decoder layer."""
    reading, encoder = read(text), side == "encoder"
    position = min(position, places({"text": text, "side": side}))
    stages = inside(reading.text, side, layer, position - 1)
    character = (reading.text if encoder else ["▷", *reading.characters])[position - 1]
    latex = {"input": "x" if encoder else "y"}
    rows = r" \\ ".join(
        rf"{latex.get(name, name[0] + (f'_{{{name[1:]}}}' if name[1:] else ''))} &= {tex_row(values[:4].tolist())}"
        for name, values in stages.items()
    )
    note = _("the first 4 of {width} channels, at “{character}”")

    ratios = [
        Stat(
            name=_("{added} beside {carried}").format(added=added, carried=carried),
            value=f"× {number(ratio, 2)}",
            note=_("root mean squares"),
        )
        for (added, carried), ratio in sublayer_ratios(stages).items()
    ]
    return PartView(
        equation=Worked(
            ENCODER if encoder else DECODER,
            rf"\begin{{aligned}} {rows} \end{{aligned}}",
            note.format(width=len(stages["input"]), character=figures.visible([character])[0]),
        ),
        figure=[
            plot(
                figures.vectors(stages),
                "inside_vectors",
                _("One vector at each stage of the layer, a row a stage, a column a channel."),
            ),
            stats(*ratios),
        ],
        asked=lambda: (
            _("the size of what the first sub-layer adds, beside its input"),
            next(iter(sublayer_ratios(stages).values())),
        ),
        notebook_values=lambda: {
            "STAGES": {name: value for name, value in stages.items() if name[0] in "OF" or name == "input"},
            "NORMS": reader().norms(side, layer),
            **on_screen({name: value[:4] for name, value in stages.items() if name[0] == "N"}),
        },
    )


def scored() -> str:
    """The score on held-out dates, beside rules written by hand."""
    test = reader().card["metrics"].get("test")
    if not test:
        return _("This model has not been tested.")
    line = _(
        "On {count} dates of days and formats never seen it is right on {share}, a page of rules written by hand on {rules}."
    )
    return line.format(
        count=number(test["samples"]), share=percent(test["exact_match"], 2), rules=percent(test["baselines"]["rules by hand"], 2)
    )


render(
    LessonPage(
        "transformer",
        _("Encoder and decoder"),
        [
            Part("see", _("See it work"), reading_view, "see"),
            Part("decode", _("Token by token"), decode, "decode"),
            Part("layer", _("Inside a layer"), layer, "inside", "position"),
        ],
        "vit-report 2.1–2.6, 2.8, 2.9; Vaswani et al. 2017; D12, D20, D23",
        {
            CheckpointError: ("", _("Train it: python -m core train dates --folder assets/checkpoints.")),
            ReadingError: ("", _("Type a date of at most 64 characters.")),
        },
        moved={"beam": "part=decode", "nonsense": "part=see"},
    )
)
