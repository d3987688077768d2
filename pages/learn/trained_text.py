"""Trained attention over the reader's own sentence, beside random weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import streamlit as st

from core import checkpoints
from core.checkpoints import CheckpointError
from core.explain.summaries import strongest
from core.figures.learn.attention_steps import row_bars
from core.figures.matrix import Matrix
from core.lecture.notebooks import on_screen
from core.lecture.text_reader import LONGEST, Kind, TextError, TextReader, TextReading
from core.lecture.tokens import unique_names
from core.lecture.worked import Worked
from pages.learn import frame
from pages.learn.frame import Dial, passage, tex
from pages.learn.lesson_page import Item, LessonPage, Part, PartView, Show, caption, check, markdown, plot, render, stats, written
from pages.shared import url_state
from pages.shared.language import N_, _, number, percent, significant
from pages.shared.stat_strip import Stat

SENTENCE: Final = N_("each row of the map is a query")
QUERY: Final = "tq"
BLANK: Final = "␣"


@st.cache_resource(show_spinner=False, max_entries=2)
def _reader(digest: str) -> TextReader:
    return TextReader(folder=checkpoints.FOLDER)


def _digest() -> str:
    path = checkpoints.FOLDER / "text.json"
    return checkpoints.sha256(path) if path.exists() else ""


def reader() -> TextReader:
    """The bundled model, loaded again where its card has changed.

    Raises:
        CheckpointError: where it is missing or damaged.
    """
    return _reader(_digest())


@st.cache_data(show_spinner=False, max_entries=64)
def _read(_model: TextReader, digest: str, text: str, kind: Kind) -> TextReading:
    return _model.read(text, kind)


@st.cache_data(show_spinner=False, max_entries=256)
def _continued(_model: TextReader, digest: str, text: str, kind: Kind) -> str:
    return _model.continued(text, kind)


def dials() -> dict[str, Dial]:
    """The sentence, whose weights, the word that is read, the layer and the head."""
    model, kinds = reader(), {"trained": _("Trained"), "random": _("Random, before training")}

    def words(values: Mapping[str, Any]) -> list[str]:
        return unique_names(_read(model, _digest(), values["sentence"], values["weights"]).word_names)

    def write(_values: object) -> str:
        return st.text_input(_("A sentence"), _(SENTENCE), key="sentence", bind="query-params", max_chars=LONGEST)

    def pick_word(values: Mapping[str, Any]) -> int:
        options = {str(index): name for index, name in enumerate(words(values))}
        last = str(len(options) - 1)
        return int(url_state.choice(st.segmented_control, _("Query"), options, key=QUERY, default=last, required=True))

    return {
        "sentence": Dial(_("Sentence"), write),
        "weights": frame.choice(_("Weights"), kinds, key="weights"),
        QUERY: Dial(_("Query"), pick_word, lambda index, values: words(values)[index]),
        "tl": frame.choice(_("Layer"), frame.whole_numbers(*range(1, len(model.layers) + 1)), key="tl", value=int),
        "th": frame.choice(_("Head"), frame.whole_numbers(*range(1, model.heads + 1)), key="th", value=int),
    }


def show(sentence: str, weights: Kind, tq: int, tl: int, th: int) -> PartView:
    """One head over the sentence, one row of it, and what comes next."""
    model, head = reader(), th - 1
    reading, layer = _read(model, _digest(), sentence, weights), model.layers[tl - 1]
    place = reading.words[tq][1]
    row = reading.maps[layer][head, place, : place + 1]
    names = [BLANK if symbol == " " else symbol for symbol in reading.symbols]
    best = strongest(row, 1)[0][0]
    symbols, chances = reading.next_symbols(place)
    read, off = "".join(reading.symbols[1 : place + 1]), reading.deviation(layer)
    bars = row_bars(row, names[: place + 1], y_title=_("Weight"), even=1 / (place + 1), mark=best)
    following = row_bars(chances, [_shown(symbol) for symbol in symbols], y_title=_("Next character"))
    expects = _("After “{read}” it expects **{symbol}** ({share}), and on its own goes on: “{more}”.").format(
        read=read, symbol=_shown(symbols[0]), share=percent(float(chances[0])),
        more=_continued(model, _digest(), read, weights) or "…",
    )  # fmt: skip
    never = _("It never learned {marks}: they count as one unknown character.").format(marks=" ".join(reading.unknown))
    same = _("Largest difference of this layer's weights from softmax(QKᵀ/√d_k), computed again in numpy: {value}.")
    q, k = reading.q[layer][head, place], reading.k[layer][head, : place + 1]
    score = tex(float(q @ k[best]) / len(q) ** 0.5)
    return PartView(
        equation=Worked(
            r"A_{ij} = \frac{e^{q_i \cdot k_j / \sqrt{d_k}}}{\sum_{j' \le i} e^{q_i \cdot k_{j'} / \sqrt{d_k}}}",
            rf"\begin{{aligned}} q_{{{place}}} \cdot k_{{{best}}} / \sqrt{{{len(q)}}} &= {score} \\ "
            rf"A_{{{place},{best}}} &= {tex(float(row[best]))} \end{{aligned}}",
            _(
                "The last character of the word, “{query}”, and the one it looks at most, “{key}”; {begin} begins the sentence."
            ).format(query=names[place], key=names[best], begin=names[0]),
        ),
        figure=[
            bits(model, reading, weights),
            [
                word_map(reading, layer, head, tq),
                [
                    plot(
                        bars, "trained_row",
                        _("What the last character of the chosen word looks at, a bar for each character before it."),
                    ),
                    plot(following, "trained_next", _("The likeliest next characters and their probabilities.")),
                ],
            ],
            markdown(expects),
            caption(never) if reading.unknown else None,
            caption(training(model)),
            check(same.format(value=written(off, -1)), off < 1e-5),
        ],
        notes=[passage("trained_text", "look")],
        taken=lambda: {
            "READ": read, "K": k, "Q": q, "LOGITS": reading.logits[place], **on_screen({"weights": row, "next": chances})
        },
    )  # fmt: skip


def bits(model: TextReader, reading: TextReading, kind: Kind) -> Show:
    """Bits a character, trained and random, here and on what the model never saw."""
    others = {one: _read(model, _digest(), reading.text, one) for one in ("trained", "random") if one != kind} | {kind: reading}
    unit, test = _("{value} bits a character"), model.card["metrics"].get("test", {})
    strip = [
        Stat(name=name, value=unit.format(value=number(float(others[one].bits.mean()), 2)))
        for one, name in (("trained", _("This sentence, trained")), ("random", _("This sentence, random")))
    ]
    if test:
        perplexity = _("perplexity {value}").format(value=significant(test["perplexity"]))
        value = unit.format(value=number(test["bits_per_character"], 2))
        strip.append(Stat(name=_("Paragraphs it never saw"), value=value, note=perplexity))
    return stats(*strip)


def word_map(reading: TextReading, layer: str, head: int, word: int) -> list[Item]:
    """Weights between words; a click on a row reads that word."""
    names = unique_names(reading.word_names)
    drawn = Matrix(
        values=reading.by_words(layer, head), name=_("Weights between words"), rows=names, columns=names, x_title=_("Key"),
        y_title=_("Query"), signed=False, top=1.0, outlined=((word, word, 0, len(names) - 1),),
    )  # fmt: skip
    alt = _("Weights between the words of the sentence; a click on a row reads that word.")

    return [
        plot(drawn, "trained_words", alt, chooses=QUERY),
        caption(
            _(
                "A word's weights are those of its characters: summed over the key's, averaged over the query's. "
                "Each row sums to 1."
            )
        ),
    ]


def training(model: TextReader) -> str:
    """Says what the model was trained on and how it compares."""
    card = model.card
    test, counts = card["metrics"].get("test"), card["split"]["characters"]
    words = _(
        "Trained on this app's own prose only, English and Spanish ({characters} characters): it knows this app's words and "
        "little else. {parameters} parameters; `{command}`."
    ).format(characters=number(counts["train"]), parameters=number(card["parameters"]), command=card["command"])
    if test:
        rivals = " · ".join(f"{name} {number(value, 2)}" for name, value in test["baselines"].items())
        words += " " + _(
            "On {count} paragraphs kept apart it needs {bits} bits a character; counting characters needs: {rivals}."
        ).format(count=number(test["paragraphs"]), bits=number(test["bits_per_character"], 2), rivals=rivals)
        better = [name for name, value in test["baselines"].items() if value < test["bits_per_character"]]
        if better:
            words += " " + _("So {names} still do better than this short training.").format(names=", ".join(better))
    return words


def _shown(symbol: str) -> str:
    return {" ": BLANK, "▷": _("end")}.get(symbol, symbol)


render(
    LessonPage(
        "trained_text",
        _("Trained attention"),
        [
            Part("", "", dials, show, "tdial", "weights"),
        ],
        _(
            "vit-report 2.2 and 2.6, sequence-modelling (general architecture: the masked decoder); Radford et al. 2019; "
            "baselines: Witten and Bell 1991. The documents have no trained model of text: this one is ours."
        ),
        {
            CheckpointError: ("", _("Train it: `python -m core train NAME --folder assets/checkpoints`.")),
            TextError: ("", ""),
        },
    )
)
