"""The parts of the encoder-decoder's page that show what it is made of: a vector inside a layer, and how it was trained."""

from __future__ import annotations

from typing import Final

import pandas as pd
import streamlit as st

from core import checkpoints
from core.figures.learn import transformer as figures
from core.lecture.date_reader import DateReader, DateReading
from core.lecture.decoding import sublayer_ratios
from pages.learn import cached_results as answers
from pages.learn import frame
from pages.learn.transformer_parts import layer_dial
from pages.shared import controls, url_state
from pages.shared.language import _, number, percent
from pages.shared.live_plot import static_plot
from pages.shared.stat_strip import Stat, stat_strip

ENCODER: Final = (
    r"\begin{aligned} A &= \mathrm{MultiHead}(x, x, x) \\ N_1 &= \mathrm{LayerNorm}(x + A) \\"
    r"F &= \mathrm{FFN}(N_1) \\ N_2 &= \mathrm{LayerNorm}(N_1 + F) \end{aligned}"
)
DECODER: Final = (
    r"\begin{aligned} A_1 &= \mathrm{MultiHead}_{causal}(y, y, y) \\ N_1 &= \mathrm{LayerNorm}(y + A_1) \\"
    r"A_2 &= \mathrm{MultiHead}(N_1, H, H) \\ N_2 &= \mathrm{LayerNorm}(N_1 + A_2) \\"
    r"F &= \mathrm{FFN}(N_2) \\ N_3 &= \mathrm{LayerNorm}(N_2 + F) \end{aligned}"
)


def layer(reader: DateReader, reading: DateReading) -> None:
    """One vector on its way through an encoder or decoder layer."""
    sides = {"encoder": _("Encoder"), "decoder": _("Decoder")}
    side = str(st.session_state.get("tf_side", st.query_params.get("tf_side", "encoder")))
    count = len(reading.characters) if side == "decoder" else len(reading.text)
    chosen = frame.dials(
        "inside",
        {
            "position": frame.Dial(_("Position"), lambda: url_state.slider(_("Position"), 1, count, key="tf_place", default=1)),
            "side": frame.Dial(
                _("Side"),
                lambda: url_state.choice(st.segmented_control, _("Side"), sides, key="tf_side", required=True),
                lambda code: sides[code],
            ),
            "layer": layer_dial(reader),
        },
    )
    place = chosen["position"] - 1
    found = answers.inside(str(checkpoints.FOLDER), reading.text, chosen["side"], int(chosen["layer"]), place)
    names = list(found)
    static_plot(
        figures.vectors_figure(found),
        key="inside_vectors",
        alt=_("One vector at each stage of the layer, a row a stage, a column a channel."),
    )
    stat_strip(
        [
            Stat(name=_("{added} beside {carried}").format(added=added, carried=carried), value=f"× {number(ratio, 2)}",
                 note=_("root mean squares"))
            for (added, carried), ratio in sublayer_ratios(found).items()
        ]
    )  # fmt: skip
    frame.look_for(frame.passage("transformer", "layer"))
    character = (reading.text if chosen["side"] == "encoder" else ["▷", *reading.characters])[place]
    latex = {"input": "x" if chosen["side"] == "encoder" else "y"}
    rows = r" \\ ".join(
        rf"{latex.get(name, name[0] + (f'_{{{name[1:]}}}' if name[1:] else ''))} &= {frame.tex_row(found[name][:4].tolist())}"
        for name in names
    )
    frame.equation(
        ENCODER if chosen["side"] == "encoder" else DECODER,
        rf"\begin{{aligned}} {rows} \end{{aligned}}",
        words=_("the first 4 of {width} channels, at “{character}”").format(
            width=len(found["input"]), character=figures.visible([character])[0]
        ),
    )
    if chosen["side"] == "encoder":
        with st.expander(_("What this encoder layer looks at"), icon=":material/grid_on:"):
            static_plot(
                figures.encoder_map(reading.trace.maps[f"encoder {chosen['layer']}"].mean(axis=0), list(reading.text)),
                key="encoder_map",
                alt=_("The encoder's self-attention over the characters, mean of the heads."),
            )


def card(reader: DateReader) -> None:
    """What it was trained on and how well it does on what it never saw."""
    card = reader.card
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
                note=_("the naivest rule, same dates"),
            ),
        ]
    stat_strip(stats)
    static_plot(
        figures.training_figure(card["history"]),
        key="dates_training",
        alt=_("Training loss and validation exact match by step."),
    )
    frame.look_for(frame.passage("transformer", "card"))
    st.markdown(frame.passage("transformer", "conventions"))
    if test:
        st.markdown("**" + _("By held-out format") + "**")
        table = pd.DataFrame(
            {_("Format"): list(test["by_format"]), _("Exact match"): [percent(one, 1) for one in test["by_format"].values()]}
        )
        st.dataframe(table, hide_index=True)
        if test["misses"]:
            st.markdown("**" + _("Some it got wrong") + "**")
            misses = pd.DataFrame(test["misses"])
            misses.columns = [_("Text"), _("Right"), _("Answer")]
            st.dataframe(misses, hide_index=True)
        controls.download_table(_("Scores by format"), lambda: table, key="dates_scores", filename="dates-scores")
    st.code(card["command"], language="bash")
