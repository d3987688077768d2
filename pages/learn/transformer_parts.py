"""The parts of the encoder-decoder's page that decode: symbol by symbol, by beam, and what is no date at all."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
import streamlit as st

from core import checkpoints
from core.figures.learn import transformer as figures
from core.lecture import dates
from core.lecture.date_reader import DateReader, DateReading
from pages.learn import cached_results as answers
from pages.learn import frame
from pages.shared import url_state
from pages.shared.language import _, number, percent
from pages.shared.live_plot import static_plot
from pages.shared.stat_strip import Stat, stat_strip

NONSENSE: Final = (
    "31 de febrero de 2001", "12/25/1979", "tres de mayo de 1979", "99/99/9999", "mañana", "hello world",
    "attention is all you need", "?!?",
)  # fmt: skip

SIGNS: Final = {" ": r"\sqcup", "■": r"\blacksquare", "▷": r"\triangleright", "�": "?", "␀": r"\varnothing"}

CROSS: Final = (
    r"\begin{gathered} A_2 = \mathrm{softmax}\!\left(\frac{Q K^{\top}}{\sqrt{d_k}}\right) V \\[4pt]"
    r"Q = N_1 W_Q,\; K = H W_K,\; V = H W_V \\[4pt]"
    r"\hat Y = Z W_{out} + b_{out},\; P(y_t \mid y_{<t}, x) = \mathrm{softmax}(\hat Y_t) \end{gathered}"
)
"""Cross-attention and the output layer (vit-report sections 2.6 and 2.9)."""


def sign(character: str) -> str:
    """One symbol for LaTeX."""
    return SIGNS.get(character, rf"\texttt{{{character}}}") if character.isascii() or character in SIGNS else "?"


def answer(reading: DateReading) -> None:
    """The answer and how sure the model is of it."""
    least = min(range(len(reading.characters)), key=lambda i: reading.symbol_probabilities[i])
    stat_strip(
        [
            Stat(name=_("Answer"), value=reading.answer or "–", note=_("read as: {text}").format(text=reading.text)),
            Stat(name=_("Probability of the whole"), value=percent(reading.probability, 2)),
            Stat(
                name=_("Least sure symbol"),
                value=figures.visible([reading.characters[least]])[0],
                note=_("{share}, number {n}").format(share=percent(reading.symbol_probabilities[least], 2), n=least + 1),
            ),
            Stat(
                name=_("A day of the calendar"),
                value=_("yes") if reading.is_date else _("no"),
                tone="good" if reading.is_date else "warning",
            ),
        ]
    )
    if reading.unknown:
        st.caption(
            _("The model has no symbol for {characters}: it reads a sign for “unknown” there.").format(
                characters=" ".join(reading.unknown)
            )
        )


def layer_dial(reader: DateReader) -> frame.Dial:
    """Which layer is read."""
    names = {str(index): str(index) for index in range(1, reader.model.config.layers + 1)}
    last = str(reader.model.config.layers)
    return frame.Dial(
        _("Layer"),
        lambda: url_state.choice(st.segmented_control, _("Layer"), names, key="tf_layer", default=last, required=True),
    )


def _forward(key: str, last: int) -> None:
    now = int(st.session_state.get(key, last))
    st.session_state[key] = 1 if now >= last else now + 1


def step_dial(last: int) -> frame.Dial:
    """Which symbol of the answer is being decoded, with a button that goes on by one."""

    def draw() -> int:
        left, right = st.columns([5, 1], vertical_alignment="bottom")
        with right:
            st.button(_("Next"), key="next_symbol", icon=":material/skip_next:", on_click=_forward, args=("symbol", last))
        with left:
            return url_state.slider(_("Symbol of the answer"), 1, last, key="symbol", default=last)

    return frame.Dial(_("Symbol"), draw)


def decode(reader: DateReader, reading: DateReading) -> None:
    """Watch it decode: what may come next, and where the layer looked."""
    heads = {"mean": _("Mean")} | {str(index): str(index) for index in range(1, reader.model.config.heads + 1)}
    chosen = frame.dials(
        "decode",
        {
            "symbol": step_dial(len(reading.characters)),
            "layer": layer_dial(reader),
            "head": frame.Dial(
                _("Head"),
                lambda: url_state.choice(st.segmented_control, _("Head"), heads, key="tf_head", required=True),
                lambda code: heads[code],
            ),
        },
    )
    step, layer, head = chosen["symbol"] - 1, chosen["layer"], chosen["head"]

    def of(kind: str) -> Any:
        weights = reading.trace.maps[f"{kind} {layer}"]
        return weights.mean(axis=0) if head == "mean" else weights[int(head) - 1]

    cross, own = of("cross"), of("decoder")
    so_far = "".join(reading.characters[:step])
    st.markdown(_("So far: `{text}`, next: `{symbol}`").format(text=so_far or "▷", symbol=reading.characters[step]))
    maps = figures.decoding_maps(cross, own, source=list(reading.text), target=reading.characters, step=step)
    left, right = st.columns(2)
    with left:
        static_plot(maps[0], key="cross_map", alt=_("Which characters of the text each answered symbol looked at."))
    with right:
        static_plot(maps[1], key="own_map", alt=_("Which earlier symbols of the answer each answered symbol looked at."))
    frame.look_for(frame.passage("transformer", "decode"))
    left, right = st.columns(2)
    with left:
        static_plot(
            figures.next_figure(reading.trace.probabilities[step], dates.SYMBOLS, chosen=reading.trace.symbols[step]),
            key="next_symbols",
            height=330,
            alt=_("The likeliest next symbols and their probabilities."),
        )
    with right:
        static_plot(
            figures.reading_figure(
                cross[step], answers.relevance(str(checkpoints.FOLDER), reading.text, step), list(reading.text)
            ),
            key="reading",
            height=330,
            alt=_("Attention of this symbol over the text, and gradient times input of each character."),
        )
    best = sorted(range(len(reading.text)), key=lambda i: -cross[step][i])[:3]
    weights = r",\;".join(rf"\alpha_{{{i + 1}}}({sign(reading.text[i])}) = {frame.tex(float(cross[step][i]))}" for i in best)
    probability = float(reading.trace.probabilities[step][reading.trace.symbols[step]])
    past = "".join(sign(one) for one in ("▷", *reading.characters[:step]))
    frame.equation(
        CROSS,
        rf"\begin{{gathered}} {weights} \\[4pt] P({sign(reading.characters[step])} \mid {past}) = {frame.tex(probability, 4)}"
        rf"\end{{gathered}}",
        words=_("the three characters looked at most; uncertainty before this symbol: {bits} bits").format(
            bits=number(float(reading.trace.entropy[step]), 3)
        ),
    )
    st.markdown(frame.passage("transformer", "weights"))


def beam(_reader: DateReader, reading: DateReading) -> None:
    """Greedy against beam search."""
    chosen = frame.dials(
        "beam",
        {
            "width": frame.Dial(_("Beam width"), lambda: url_state.slider(_("Beam width"), 1, 6, key="beam_width", default=4)),
            "symbol": step_dial(len(reading.characters)),
        },
    )
    history = answers.beams(str(checkpoints.FOLDER), reading.text, chosen["width"])
    held = history[min(chosen["symbol"], len(history)) - 1]
    names = ["".join(figures.visible([dates.SYMBOLS[symbol] for symbol in one.symbols])) for one in held]
    static_plot(
        figures.beam_figure(names, [one.probability for one in held], finished=[one.ended for one in held]),
        key="beam_held",
        alt=_("The sequences the beam holds after this symbol and their probabilities."),
    )
    frame.look_for(frame.passage("transformer", "beam"))
    final = history[-1]
    logs = final[0].log_probabilities
    sum_ = " + ".join(f"({frame.tex(value)})" for value in logs[:3])
    frame.equation(
        r"\log P(y \mid x) = \sum_{t=1}^{T} \log P(y_t \mid y_{<t}, x)",
        rf"{sum_} + \cdots = {frame.tex(final[0].score)}",
        words=_("the best of the beam, natural logarithms"),
    )
    same = final[0].symbols == reading.hypothesis.symbols
    frame.check(
        _("Greedy and beam search agree on {answer}.").format(answer=reading.answer)
        if same
        else _("The beam found {other}, more probable than the greedy {answer}.").format(
            other=dates.decode_text(final[0].symbols), answer=reading.answer
        ),
        holds=final[0].score >= reading.hypothesis.score - 1e-4,
    )
    st.dataframe(
        pd.DataFrame(
            {
                _("Answer"): [dates.decode_text(one.symbols) for one in final],
                _("Probability"): [percent(one.probability, 3) for one in final],
                _("A day of the calendar"): [dates.is_calendar_date(dates.decode_text(one.symbols)) for one in final],
            }
        ),
        hide_index=True,
    )


def nonsense(_reader: DateReader, reading: DateReading) -> None:
    """What it makes of texts that are no dates, and how sure it is of that."""
    folder = str(checkpoints.FOLDER)
    held_out, scribbles = answers.certainty(folder)
    static_plot(
        figures.certainty_figure(held_out, scribbles, here=reading.probability),
        key="certainty",
        alt=_("How sure the model is of its answers: held-out dates against random characters."),
    )
    frame.look_for(frame.passage("transformer", "nonsense"))
    sure = sum(1 for value in scribbles if value > 0.9)
    frame.equation(
        r"P(y \mid x) = \prod_{t=1}^{T} P(y_t \mid y_{<t}, x)",
        r" \cdot ".join(frame.tex(value) for value in reading.symbol_probabilities[:4])
        + rf" \cdots = {frame.tex(reading.probability, 4)}",
        words=_("this text's answer; of {count} scribbles {sure} get an answer with a probability over 0.9").format(
            count=len(scribbles), sure=sure
        ),
    )
    rows = [answers.read(folder, text) for text in NONSENSE]
    st.dataframe(
        pd.DataFrame(
            {
                _("Text"): list(NONSENSE),
                _("Answer"): [one.answer for one in rows],
                _("Probability"): [percent(one.probability, 1) for one in rows],
                _("A day of the calendar"): [one.is_date for one in rows],
            }
        ),
        hide_index=True,
    )
