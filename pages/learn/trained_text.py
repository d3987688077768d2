"""A trained model over the reader's own sentence: what its heads look at, and what it expects next, beside random weights."""

from __future__ import annotations

from typing import Any, Final, cast

import streamlit as st

from core import checkpoints
from core.explain.summaries import strongest
from core.figures.learn.attention_steps import row_bars
from core.figures.matrix import Matrix, matrix_figure
from core.lecture import notebooks
from core.lecture.text_reader import LONGEST, Kind, TextError, TextReader, TextReading
from core.lecture.tokens import unique_names
from pages.learn import frame
from pages.learn.frame import Dial, tex
from pages.shared import controls, url_state
from pages.shared.language import N_, _, number, percent, significant
from pages.shared.live_plot import Point, live_plot, static_plot
from pages.shared.stat_strip import Stat, stat_strip

PAGE: Final = "trained_text"
SENTENCE: Final = N_("each row of the map is a query")
QUERY: Final = "tq"
BLANK: Final = "␣"


@st.cache_resource(show_spinner=False, max_entries=2)
def _reader(digest: str) -> TextReader:
    return TextReader(folder=checkpoints.FOLDER)


def reader() -> TextReader:
    """The bundled model, loaded again where its card has changed.

    Raises:
        CheckpointError: where it is missing or damaged.
    """
    return _reader(_digest())


def _digest() -> str:
    path = checkpoints.FOLDER / "text.json"
    return checkpoints.sha256(path) if path.exists() else ""


@st.cache_resource(show_spinner=False, max_entries=64)
def _read(_model: TextReader, digest: str, text: str, kind: Kind) -> TextReading:
    return _model.read(text, kind)


@st.cache_data(show_spinner=False, max_entries=256)
def _continued(_model: TextReader, digest: str, text: str, kind: Kind) -> str:
    return _model.continued(text, kind)


@st.fragment
def body() -> None:
    """Everything that changes with a dial; a fragment, which reruns on its own."""
    values = show()
    if values is None:
        frame.link_only()
        return
    frame.close_page(
        PAGE,
        sources=_(
            "vit-report 2.2 and 2.6, sequence-modelling (general architecture: the masked decoder); Radford et al. 2019; "
            "baselines: Witten and Bell 1991. The documents have no trained model of text: this one is ours."
        ),
        values=values,
    )


def show() -> dict[str, Any] | None:
    """The view; returns the values for its notebook, None after an error box."""
    try:
        model = reader()
        reading, kind, layer, head, word = _choose(model)
    except checkpoints.CheckpointError as error:
        controls.error_box(str(error), remedy=_("Train it: `python -m core train text --folder assets/checkpoints`."))
        return None
    except TextError as error:
        controls.error_box(str(error))
        return None
    place = reading.words[word][1]
    row = reading.maps[layer][head, place, : place + 1]
    names = [BLANK if symbol == " " else symbol for symbol in reading.symbols]
    best = strongest(row, 1)[0][0]
    symbols, chances = reading.next_symbols(place)
    _equation(reading, layer, head, place, best, names)
    _strip(model, reading, kind)
    left, right = st.columns(2)
    with left:
        _map(reading, layer, head, word)
    with right:
        static_plot(
            row_bars(row, names[: place + 1], y_title=_("Weight"), even=1 / (place + 1), mark=best),
            key="trained_row",
            alt=_("What the last character of the chosen word looks at, a bar for each character before it."),
        )
        static_plot(
            row_bars(chances, [_shown(symbol) for symbol in symbols], y_title=_("Next character")),
            key="trained_next",
            alt=_("The likeliest next characters and their probabilities."),
        )
    read = "".join(reading.symbols[1 : place + 1])
    st.markdown(
        _("After “{read}” it expects **{symbol}** ({share}), and on its own goes on: “{more}”.").format(
            read=read,
            symbol=_shown(symbols[0]),
            share=percent(float(chances[0])),
            more=_continued(model, _digest(), read, kind) or "…",
        )
    )
    if reading.unknown:
        st.caption(_("It never learned {marks}: they count as one unknown character.").format(marks=" ".join(reading.unknown)))
    _training(model)
    off = reading.deviation(layer)
    frame.check(
        _("Largest difference of this layer's weights from softmax(QKᵀ/√d_k), computed again in numpy: {value}.").format(
            value=f"{off:.1e}"
        ),
        holds=off < 1e-5,
    )
    frame.look_for(frame.passage(PAGE, "look"))
    shown = {"weights": row, "next": chances}
    return {
        "READ": read,
        "K": reading.k[layer][head, : place + 1],
        "Q": reading.q[layer][head, place],
        "LOGITS": reading.logits[place],
        **notebooks.on_screen(shown),
    }


def _choose(model: TextReader) -> tuple[TextReading, Kind, str, int, int]:
    """Draw the dials; the reading, whose weights, the layer, the head and the word that is the query."""
    found: list[TextReading] = []
    kinds = {"trained": _("Trained"), "random": _("Random, before training")}

    def write(_values: object) -> str:
        return st.text_input(_("A sentence"), _(SENTENCE), key="sentence", bind="query-params", max_chars=LONGEST)

    def pick_word(_values: object) -> int:  # the words depend on the sentence, whose dial is drawn first
        kind = cast(Kind, st.session_state.get("weights") or "trained")
        found.append(_read(model, _digest(), st.session_state["sentence"], kind))
        names = {str(index): name for index, name in enumerate(unique_names(found[0].word_names))}
        return int(
            url_state.choice(st.segmented_control, _("Query"), names, key=QUERY, default=str(len(names) - 1), required=True)
        )

    offered = {
        "sentence": Dial(_("Sentence"), write),
        "weights": frame.choice(_("Weights"), kinds, key="weights"),
        QUERY: Dial(_("Query"), pick_word, lambda index, _values: unique_names(found[0].word_names)[index]),
        "tl": frame.choice(_("Layer"), frame.whole_numbers(*range(1, len(model.layers) + 1)), key="tl", value=int),
        "th": frame.choice(_("Head"), frame.whole_numbers(*range(1, model.heads + 1)), key="th", value=int),
    }
    values = frame.dials("tdial", offered, first="weights")
    return found[0], values["weights"], model.layers[values["tl"] - 1], values["th"] - 1, values[QUERY]


def _equation(reading: TextReading, layer: str, head: int, place: int, best: int, names: list[str]) -> None:
    q, k = reading.q[layer][head], reading.k[layer][head]
    width = q.shape[1]
    score = float(q[place] @ k[best]) / width**0.5
    frame.equation(
        r"A_{ij} = \frac{e^{q_i \cdot k_j / \sqrt{d_k}}}{\sum_{j' \le i} e^{q_i \cdot k_{j'} / \sqrt{d_k}}}",
        rf"\begin{{aligned}} q_{{{place}}} \cdot k_{{{best}}} / \sqrt{{{width}}} &= {tex(score)} \\ "
        rf"A_{{{place},{best}}} &= {tex(float(reading.maps[layer][head, place, best]))} \end{{aligned}}",
        note=_(
            "The last character of the word, “{query}”, and the one it looks at most, “{key}”; {begin} begins the sentence."
        ).format(query=names[place], key=names[best], begin=names[0]),
    )


def _strip(model: TextReader, reading: TextReading, kind: Kind) -> None:
    others = {one: _read(model, _digest(), reading.text, one) for one in ("trained", "random") if one != kind} | {kind: reading}
    stats = [
        Stat(name=name, value=_("{value} bits a character").format(value=number(float(others[one].bits.mean()), 2)))
        for one, name in (("trained", _("This sentence, trained")), ("random", _("This sentence, random")))
    ]
    test = model.card["metrics"].get("test", {})
    if test:
        stats.append(
            Stat(
                name=_("Paragraphs it never saw"),
                value=_("{value} bits a character").format(value=number(test["bits_per_character"], 2)),
                note=_("perplexity {value}").format(value=significant(test["perplexity"])),
            )
        )
    stat_strip(stats)


def _map(reading: TextReading, layer: str, head: int, word: int) -> None:
    weights = reading.by_words(layer, head)
    names = unique_names(reading.word_names)
    figure = matrix_figure(
        Matrix(
            values=weights,
            name=_("Weights between words"),
            rows=names,
            columns=names,
            x_title=_("Key"),
            y_title=_("Query"),
            signed=False,
            top=1.0,
            outlined=((word, word, 0, len(names) - 1),),
        )
    )

    def choose_row(point: Point) -> None:
        if point.y is not None:
            st.session_state[QUERY] = str(int(float(point.y)))

    live_plot(
        figure,
        key="trained_words",
        height=int(figure.layout.height),
        on_click=choose_row,
        alt=_("Weights between the words of the sentence; a click on a row reads that word."),
    )
    st.caption(
        _("A word's weights are those of its characters: summed over the key's, averaged over the query's. Each row sums to 1.")
    )


def _training(model: TextReader) -> None:
    card = model.card
    test, counts = card["metrics"].get("test"), card["split"]["characters"]
    words = _(
        "Trained on this app's own prose only, English and Spanish ({characters} characters): it knows this app's words and "
        "little else. {parameters} parameters; `{command}`."
    ).format(characters=number(counts["train"]), parameters=number(card["parameters"]), command=card["command"])
    if test:
        rivals = " · ".join(f"{name} {number(bits, 2)}" for name, bits in test["baselines"].items())
        words += " " + _(
            "On {count} paragraphs kept apart it needs {bits} bits a character; counting characters needs: {rivals}."
        ).format(count=number(test["paragraphs"]), bits=number(test["bits_per_character"], 2), rivals=rivals)
        better = [name for name, bits in test["baselines"].items() if bits < test["bits_per_character"]]
        if better:
            words += " " + _("So {names} still do better than this short training.").format(names=", ".join(better))
    st.caption(words)


def _shown(symbol: str) -> str:
    return {" ": BLANK, "▷": _("end")}.get(symbol, symbol)


frame.open_page(PAGE, _("Trained attention"))
body()
