"""The encoder-decoder Transformer at work: a date as people write it, read symbol by symbol into ISO."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
import streamlit as st

from core import checkpoints
from core.checkpoints import CheckpointError
from core.figures.learn import transformer as figures
from core.figures.learn.diagrams.transformer import transformer_diagram
from core.lecture import claims, dates, notebooks
from core.lecture.claims import transformer as said
from core.lecture.date_reader import DateReader, DateReading, ReadingError
from core.lecture.decoding import sublayer_ratios
from core.messages import translate
from pages.learn import date_answers, diagram, frame, predict, questions
from pages.shared import controls, url_state
from pages.shared.language import _, number, percent
from pages.shared.live_plot import static_plot
from pages.shared.stat_strip import Stat, stat_strip

PAGE: Final = "transformer"
EXAMPLES: Final = ("3 de mayo de 1979", "sábado 3 mayo 1979", "May the 3rd, 1979", "03/04/1979", "Thu 3-may-79")
NONSENSE: Final = (
    "31 de febrero de 2001", "12/25/1979", "tres de mayo de 1979", "99/99/9999", "mañana", "hello world",
    "attention is all you need", "?!?",
)  # fmt: skip

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


def show_answer(reading: DateReading) -> None:
    """The answer, its probability and its least certain symbol."""
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
                name=_("A date that exists"),
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
    """The layer to look into."""
    last = reader.model.config.layers
    return frame.choice(_("Layer"), frame.whole_numbers(*range(1, last + 1)), key="tf_layer", default=str(last), value=int)


def _forward(key: str, last: int) -> None:
    now = int(st.session_state.get(key, last))
    st.session_state[key] = 1 if now >= last else now + 1


def step_dial(last: int) -> frame.Dial:
    """The symbol of the answer being decoded, with a button for the next one."""

    def draw(_values: object) -> int:
        left, right = st.columns([5, 2], vertical_alignment="bottom")
        with right:
            st.button(_("Next"), key="next_symbol", icon=":material/skip_next:", on_click=_forward, args=("symbol", last))
        with left:
            return url_state.slider(_("Symbol of the answer"), 1, last, key="symbol", default=last)

    return frame.Dial(_("Symbol"), draw)


def show_diagram(reader: DateReader, reading: DateReading, *, symbol: int = 0, layer: int = 0, dial: str = "") -> None:
    """The lesson's diagram at one symbol of the answer, counted from 1; the last one and the last layer where 0."""
    step = (symbol or len(reading.characters)) - 1
    drawn = transformer_diagram(
        reader.model.config,
        text=reading.text,
        characters=reading.characters,
        probabilities=reading.symbol_probabilities,
        step=step,
        looked=float(reading.trace.maps[f"cross {layer or reader.model.config.layers}"].mean(axis=0)[step].max()),
        parameters=number(reader.card["parameters"]),
        write=diagram.write,
    )
    diagram.show(drawn, dial=dial)


def decode(reader: DateReader, reading: DateReading) -> dict[str, Any]:
    """Decoding step by step: the next symbols, and the attention of a layer; returns values for the notebook."""
    heads = {"mean": _("Mean")} | {str(index): str(index) for index in range(1, reader.model.config.heads + 1)}
    chosen = frame.dials(
        "decode",
        {
            "symbol": step_dial(len(reading.characters)),
            "layer": layer_dial(reader),
            "head": frame.choice(_("Head"), heads, key="tf_head"),
        },
    )
    step, layer, head = chosen["symbol"] - 1, chosen["layer"], chosen["head"]
    show_diagram(reader, reading, symbol=chosen["symbol"], layer=layer, dial="decode")

    def of(kind: str) -> Any:
        weights = reading.trace.maps[f"{kind} {layer}"]
        return weights.mean(axis=0) if head == "mean" else weights[int(head) - 1]

    cross, causal = of("cross"), of("decoder")
    following = reading.characters[min(step + 1, len(reading.characters) - 1)]
    predict.ask(lambda: questions.next_look(cross, step, list(reading.text), following))
    so_far = "".join(reading.characters[:step])
    st.markdown(_("So far: `{text}`, next: `{symbol}`").format(text=so_far or "▷", symbol=reading.characters[step]))
    maps = figures.decoding_maps(cross, causal, source=list(reading.text), target=reading.characters, step=step)
    last = len(reading.characters) - 1
    whole = figures.decoding_maps(cross, causal, source=list(reading.text), target=reading.characters, step=last)[0]
    play = figures.decoding_play(date_answers.symbol_captions(reading, cross), start=step)
    left, right = st.columns(2)
    with left:
        static_plot(whole, play=play, key="cross_map", alt=_("Which characters of the text each answered symbol looked at."))
    with right:
        static_plot(maps[1], key="causal_map", alt=_("Which earlier symbols of the answer each answered symbol looked at."))
    looking = said.Looking(cross=cross, step=step, text=figures.visible(list(reading.text)), answer=reading.answer)
    frame.look_for(frame.passage(PAGE, "decode"), *claims.told(said.DECODE, looking))
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
                cross[step], date_answers.relevance(str(checkpoints.FOLDER), reading.text, step), list(reading.text)
            ),
            key="reading",
            height=330,
            alt=_("Attention of this symbol over the text, and gradient times input of each character."),
        )
    best = sorted(range(len(reading.text)), key=lambda i: -cross[step][i])[:3]
    weights = r",\;".join(
        rf"A_{{{step + 1},{i + 1}}}({latex_symbol(reading.text[i])}) = {frame.tex(float(cross[step][i]))}" for i in best
    )
    probability = float(reading.trace.probabilities[step][reading.trace.symbols[step]])
    past = "".join(latex_symbol(one) for one in ("▷", *reading.characters[:step]))
    frame.equation(
        CROSS,
        rf"\begin{{gathered}} {weights} \\[4pt] P({latex_symbol(reading.characters[step])} \mid {past}) = "
        rf"{frame.tex(probability, 4)} \end{{gathered}}",
        note=_("the three characters looked at most; uncertainty before this symbol: {bits} bits").format(
            bits=number(float(reading.trace.entropy[step]), 3)
        ),
    )
    st.markdown(frame.passage(PAGE, "weights"))
    shown = {"probability": probability, "bits": float(reading.trace.entropy[step]), "looked": [cross[step][i] for i in best]}
    symbols, p = list(dates.SYMBOLS), reading.trace.probabilities[step]
    return {"SYMBOLS": symbols, "P": p, "TEXT": reading.text, "ATTENTION": cross[step], **notebooks.on_screen(shown)}


def beam(reader: DateReader, reading: DateReading) -> dict[str, Any]:
    """Greedy against beam search; returns values for the notebook."""
    chosen = frame.dials(
        "beam",
        {
            "width": frame.slider(_("Beam width"), 1, 6, key="beam_width", default=4),
            "symbol": step_dial(len(reading.characters)),
        },
    )
    history = date_answers.beams(str(checkpoints.FOLDER), reading.text, chosen["width"])
    show_diagram(reader, reading, symbol=chosen["symbol"], dial="beam")
    held = history[min(chosen["symbol"], len(history)) - 1]
    names = ["".join(figures.visible([dates.SYMBOLS[symbol] for symbol in one.symbols])) for one in held]
    static_plot(
        figures.beam_figure(names, [one.probability for one in held], finished=[one.ended for one in held]),
        key="beam_held",
        alt=_("The sequences the beam holds after this symbol and their probabilities."),
    )
    final = history[-1]
    ended = said.Ended(beam=final, greedy=reading.hypothesis)
    frame.look_for(frame.passage(PAGE, "beam"), *claims.told(said.BEAM, ended))
    logs = final[0].log_probabilities
    sum_ = " + ".join(f"({frame.tex(value)})" for value in logs[:3])
    frame.equation(
        r"\log P(y \mid x) = \sum_{t=1}^{T} \log P(y_t \mid y_{<t}, x)",
        rf"{sum_} + \cdots = {frame.tex(final[0].score)}",
        note=_("the best of the beam, natural logarithms"),
    )
    (compared,) = claims.told(said.COMPARED, ended)
    frame.check(translate(compared), holds=not ended.lost)
    st.dataframe(
        pd.DataFrame(
            {
                _("Answer"): [dates.decode_text(one.symbols) for one in final],
                _("Probability"): [percent(one.probability, 3) for one in final],
                _("A date that exists"): [dates.is_calendar_date(dates.decode_text(one.symbols)) for one in final],
            }
        ),
        hide_index=True,
    )
    answers = {dates.decode_text(one.symbols): list(one.log_probabilities) for one in final}
    shown = {"score": final[0].score, "probability": final[0].probability}
    return {"LOGS": list(logs), "ANSWERS": answers, **notebooks.on_screen(shown, 4)}


def nonsense(reader: DateReader, reading: DateReading) -> dict[str, Any]:
    """Answers to texts that are not dates, and their probabilities; returns values for the notebook."""
    folder = str(checkpoints.FOLDER)
    show_diagram(reader, reading)
    held_out, random_texts = date_answers.certainty(folder)
    static_plot(
        figures.certainty_figure(held_out, random_texts, here=reading.probability),
        key="certainty",
        alt=_("How sure the model is of its answers: held-out dates against random characters."),
    )
    frame.look_for(frame.passage(PAGE, "nonsense"))
    sure = sum(1 for value in random_texts if value > 0.9)
    frame.equation(
        r"P(y \mid x) = \prod_{t=1}^{T} P(y_t \mid y_{<t}, x)",
        r" \cdot ".join(frame.tex(value) for value in reading.symbol_probabilities[:4])
        + rf" \cdots = {frame.tex(reading.probability, 4)}",
        note=_("this text's answer; of {count} random texts {sure} get an answer with a probability over 0.9").format(
            count=len(random_texts), sure=sure
        ),
    )
    rows = [date_answers.read(folder, text) for text in NONSENSE]
    st.dataframe(
        pd.DataFrame(
            {
                _("Text"): list(NONSENSE),
                _("Answer"): [one.answer for one in rows],
                _("Probability"): [percent(one.probability, 1) for one in rows],
                _("A date that exists"): [one.is_date for one in rows],
            }
        ),
        hide_index=True,
    )
    shown = {"probability": reading.probability, "sure of random texts": sure, "of": len(random_texts)}
    return {"SYMBOLS": list(reading.symbol_probabilities), "RANDOM": random_texts, **notebooks.on_screen(shown)}


def layer(reader: DateReader, reading: DateReading) -> dict[str, Any]:
    """One vector on its way through an encoder or decoder layer; returns values for the notebook."""
    sides = {"encoder": _("Encoder"), "decoder": _("Decoder")}
    side = str(st.session_state.get("tf_side", st.query_params.get("tf_side", "encoder")))
    count = len(reading.characters) if side == "decoder" else len(reading.text)
    chosen = frame.dials(
        "inside",
        {
            "position": frame.slider(_("Position"), 1, count, key="tf_place", default=1),
            "side": frame.choice(_("Side"), sides, key="tf_side"),
            "layer": layer_dial(reader),
        },
    )
    place = chosen["position"] - 1
    show_diagram(reader, reading, layer=chosen["layer"], dial="inside")
    stages = date_answers.inside(str(checkpoints.FOLDER), reading.text, chosen["side"], chosen["layer"], place)
    names = list(stages)
    static_plot(
        figures.vectors_figure(stages),
        key="inside_vectors",
        alt=_("One vector at each stage of the layer, a row a stage, a column a channel."),
    )
    stat_strip(
        [
            Stat(name=_("{added} beside {carried}").format(added=added, carried=carried), value=f"× {number(ratio, 2)}",
                 note=_("root mean squares"))
            for (added, carried), ratio in sublayer_ratios(stages).items()
        ]
    )  # fmt: skip
    frame.look_for(frame.passage(PAGE, "layer"))
    character = (reading.text if chosen["side"] == "encoder" else ["▷", *reading.characters])[place]
    latex = {"input": "x" if chosen["side"] == "encoder" else "y"}
    rows = r" \\ ".join(
        rf"{latex.get(name, name[0] + (f'_{{{name[1:]}}}' if name[1:] else ''))} &= {frame.tex_row(stages[name][:4].tolist())}"
        for name in names
    )
    frame.equation(
        ENCODER if chosen["side"] == "encoder" else DECODER,
        rf"\begin{{aligned}} {rows} \end{{aligned}}",
        note=_("the first 4 of {width} channels, at “{character}”").format(
            width=len(stages["input"]), character=figures.visible([character])[0]
        ),
    )
    if chosen["side"] == "encoder":
        with st.expander(_("What this encoder layer looks at"), icon=":material/grid_on:"):
            static_plot(
                figures.encoder_map(reading.trace.maps[f"encoder {chosen['layer']}"].mean(axis=0), list(reading.text)),
                key="encoder_map",
                alt=_("The encoder's self-attention over the characters, mean of the heads."),
            )
    added = {name: value for name, value in stages.items() if name[0] in "OF" or name == "input"}
    shown = {name: value[:4] for name, value in stages.items() if name[0] == "N"}
    norms = reader.norms(chosen["side"], chosen["layer"])
    return {"STAGES": added, "NORMS": norms, **notebooks.on_screen(shown)}


def training(reader: DateReader) -> dict[str, Any]:
    """The training and the scores on held-out dates and formats; returns values for the notebook."""
    card = reader.card
    show_diagram(reader, date_answers.read(str(checkpoints.FOLDER), EXAMPLES[0]))
    test = card["metrics"].get("test")
    stats = [
        Stat(name=_("Parameters"), value=number(card["parameters"])),
        Stat(name=_("Exact match, validation"), value=percent(card["metrics"]["validation"]["score"], 2)),
    ]
    if test:
        stats += [
            Stat(
                name=_("Exact match, test"),
                value=percent(test["exact_match"], 2),
                note=_("{count} dates, days and formats never seen").format(count=number(test["samples"])),
            ),
            Stat(
                name=_("Rules by hand"),
                value=percent(test["baselines"]["rules by hand"], 2),
                note=_("twenty lines of code, same dates"),
            ),
            Stat(
                name=_("Copying the digits in order"),
                value=percent(test["baselines"]["copying the digits in order"], 1),
                note=_("the simplest rule, same dates"),
            ),
        ]
    stat_strip(stats)
    static_plot(
        figures.training_figure(card["history"]),
        key="dates_training",
        alt=_("Training loss and validation exact match by step."),
    )
    frame.look_for(frame.passage(PAGE, "card"))
    st.markdown(frame.passage(PAGE, "conventions"))
    if test:
        st.markdown("**" + _("By held-out format") + "**")
        table = pd.DataFrame(
            {_("Format"): list(test["by_format"]), _("Exact match"): [percent(one, 1) for one in test["by_format"].values()]}
        )
        st.dataframe(table, hide_index=True)
        if test["misses"]:
            st.markdown("**" + _("Some of its mistakes") + "**")
            misses = pd.DataFrame(test["misses"])
            misses.columns = [_("Text"), _("Right"), _("Answer")]
            st.dataframe(misses, hide_index=True)
        controls.download_table(_("Scores by format"), lambda: table, key="dates_scores", filename="dates-scores")
    st.code(card["command"], language="bash")
    history = card["history"]
    exact = [row["score"] for row in history]
    formats = test["by_format"] if test else {}
    losses = {"LOSS": [row["loss"] for row in history], "EXACT": exact}
    return {"FORMATS": formats, **losses, **notebooks.on_screen({"best validation": card["metrics"]["validation"]["score"]}, 4)}


def date_field() -> str:
    """The text field for a date, with examples that fill it."""
    text = url_state.text(_("A date, in English or Spanish"), key="date", default=EXAMPLES[0], max_chars=80)
    with st.container(horizontal=True):
        for index, example in enumerate(EXAMPLES):
            st.button(example, key=f"date:example:{index}", on_click=_fill, args=("date", example))
    return text


def _fill(key: str, text: str) -> None:
    st.session_state[key] = text
    st.session_state[f"{key}:seen"] = st.query_params.get(key)


part = frame.open_page(
    PAGE,
    _("Encoder and decoder"),
    parts={
        "decode": _("Token by token"),
        "beam": _("Greedy and beam"),
        "nonsense": _("Nonsense"),
        "layer": _("Inside a layer"),
        "card": _("How it was trained"),
    },
)

try:
    reader = date_answers.reader(str(checkpoints.FOLDER))
except CheckpointError as problem:
    controls.error_box(str(problem), remedy=_("Train it: python -m core train dates --folder assets/checkpoints."))
    frame.link_only()
    st.stop()

diagram.slot()
text = EXAMPLES[0]
if part == "card":
    taken = training(reader)
else:
    with frame.controls_block("text"):
        text = date_field()
    try:
        reading = date_answers.read(str(checkpoints.FOLDER), text)
    except ReadingError as problem:
        controls.error_box(str(problem), remedy=_("Type a date of at most 64 characters."))
        frame.link_only()
        st.stop()
    if controls.presenting():
        st.markdown(f"### {text}")
    show_answer(reading)
    taken = {"decode": decode, "beam": beam, "nonsense": nonsense, "layer": layer}[part](reader, reading)

frame.close_page(
    PAGE,
    sources=_("vit-report sections 2.1 to 2.6, 2.8 and 2.9; Vaswani et al. 2017; D12, D20, D23"),
    values=taken,
)
