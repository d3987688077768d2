"""A report of scored recordings as one HTML file that needs nothing else: figures, tables and receipt."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from core.figures.scoring import calibration_figure, groups_figure, losses_figure
from core.market.answers.naive import A_THIRD_EACH, worse_recordings
from core.messages import translate as _

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem }
body { color: #1d2330; background: #fff }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; font-variant-numeric: tabular-nums; display: block; overflow-x: auto }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child { text-align: left }
h2 { margin-top: 2.2rem } code { overflow-wrap: anywhere } .note { color: #555 }
"""


def report_html(answer: Mapping[str, Any], tables: Mapping[str, pd.DataFrame], receipt: str, command: str) -> str:
    """The whole file. Plotly's script is in it once.

    Args:
        answer: as `python -m core evaluate tlob --data FOLDER --json` prints it. tables: by name.
        receipt: the element that carries it. command: what to type to make it again.
    """
    names = forecaster_names()
    parts = [
        _heading(answer),
        _note(_means(len(answer["recordings"]))),
        _forecasters(tables["forecasters"], names),
        *(_note(text) for text in worse_than_nothing(answer, f"{A_THIRD_EACH:.4f}")),
        *([_note(pooled_note()), _forecasters(tables["pooled"], names)] if len(answer["recordings"]) > 1 else []),
        _figure(losses_figure(tables["losses"], names=names), _("Row by row")),
        _note(_("Each forecaster's log loss less that of the frequencies so far, summed: a falling line is better than they.")),
    ]
    for by, title in group_names().items():
        if (tables["groups"]["by"] == by).sum() <= len(answer["forecasters"]):
            continue  # one group alone
        for measure in ("log_loss", "matthews"):
            figure = groups_figure(tables["groups"], by=by, measure=measure, names=names, labels=regime_names())
            parts.append(_figure(figure, title if measure == "log_loss" else ""))
    parts += [
        _figure(calibration_figure(tables["calibration"], names=names), _("Calibration")),
        _title(_("Two by two")),
        _note(
            _(
                "The second's score less the first's on the same rows, the mean over recordings, with its 95 % interval. Less is "
                "better in log loss, more in Matthews correlation."
            )
        ),
        _pairs(tables["pairs"], names),
        _title(_("Where {name} was most wrong").format(name=answer["checkpoint"])),
        _worst(tables["worst"]),
        _title(_("How it was made")),
        _note(_("Save this file and run `python -m core verify receipt FILE` to make it again and compare every number.")),
        f"<p><code>{html.escape(command)}</code></p>",
        receipt,
    ]
    body, title = "\n".join(parts), html.escape(_("Scores of recordings"))
    return (
        f'<!doctype html><html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{STYLE}</style>"
        f"<script>{get_plotlyjs()}</script></head><body>{body}</body></html>"
    )


def forecaster_names() -> dict[str, str]:
    """Names of the naive rules for a person, by code."""
    return {
        "momentum": _("Momentum rule"),
        "stationary": _("Always stationary"),
        "uniform": _("A third each"),
        "frequencies": _("Frequencies so far"),
        "decayed": _("Frequencies lately"),
    }


def pooled_note() -> str:
    """Sentence on the scores over the rows of several recordings together."""
    return _(
        "All rows together, for comparison. Where classes come more often in one recording than in another, the frequencies, "
        "which see no book, score well on them: a model is worth what it has beyond these."
    )


def worse_than_nothing(answer: Mapping[str, Any], limit: str) -> list[str]:
    """Sentences where the checkpoint's log-loss is above that of a third each: in the mean, and on which of several recordings.

    Args:
        answer: as for `report_html`. limit: the log-loss of a third each, as the reader writes it.
    """
    name, several = answer["checkpoint"], len(answer["recordings"]) > 1
    sentences = []
    if answer["log_loss"] is not None and answer["log_loss"] > A_THIRD_EACH:
        text = _("The log loss of {name} is above {limit}: saying a third each would have been better.")
        sentences.append(text.format(name=name, limit=limit))
    if several and (worse := worse_recordings(answer)):
        text = _("By recording the log loss of {name} is above {limit}, that of a third each, on {count} of {all}: {names}.")
        counts = {"count": len(worse), "all": len(answer["recordings"])}
        sentences.append(text.format(name=name, limit=limit, names=", ".join(worse), **counts))
    return sentences


def _means(recordings: int) -> str:
    if recordings > 1:
        return _("The mean over the recordings, with its 95 % interval (Student's t).")
    return _("Of one recording, with 95 % intervals by blocks of its rows.")


def group_names() -> dict[str, str]:
    """Titles of the kinds of groups, by code."""
    return {
        "recording": _("By recording"),
        "day": _("By day"),
        "hour": _("By hour of the day (UTC)"),
        "session": _("By session"),
        "volatility": _("By volatility"),
        "spread": _("By spread"),
    }


def regime_names() -> dict[str, str]:
    """Names of sessions and levels, by code."""
    return {
        "asia": _("Asia (0 to 8 h UTC)"),
        "europe": _("Europe (8 to 16 h UTC)"),
        "america": _("America (16 to 24 h UTC)"),
        "low": _("low"),
        "middle": _("middle"),
        "high": _("high"),
    }


def _heading(answer: Mapping[str, Any]) -> str:
    facts = _("Rows: {rows:,}. Recordings: {recordings:,}. Outcomes that do not overlap: {independent:,}.").format(
        rows=answer["samples"], recordings=len(answer["recordings"]), independent=answer["independent_samples"]
    )
    part = _("test part")
    alphas = ", ".join(
        f"{one['recording']}: {one['alpha'] * 1e4:.3f} bps" + (f" ({part})" if one["part"] == "test" else "")
        for one in answer["recordings"]
    )
    label = _("{label} label, {horizon} steps ahead").format(label=answer["label"], horizon=answer["horizon"])
    skipped = "".join(f"<li>{html.escape(name)}: {html.escape(why)}</li>" for name, why in answer["skipped"].items())
    title, counts = _("Scores of recordings"), _("A move counts from")
    return (
        f"<h1>{html.escape(title)}</h1><p>{html.escape(label)}. {html.escape(facts)}</p>"
        f"<p class=note>{html.escape(counts)} {html.escape(alphas)}</p>" + (f"<ul>{skipped}</ul>" if skipped else "")
    )


def _forecasters(table: pd.DataFrame, names: Mapping[str, str]) -> str:
    columns = {
        "samples": _("Rows"),
        "macro_f1": _("Macro-F1"),
        "matthews": _("Matthews"),
        "accuracy": _("Accuracy"),
        "log_loss": _("Log loss"),
        "ece": _("Calibration error"),
        "coverage": _("Rows called"),
        "precision": _("Calls that came true"),
        "move_bps": _("Mean move (bps)"),
        "break_even_fee_bps": _("Break-even fee (bps)"),
    }
    columns = {name: text for name, text in columns.items() if table[name].notna().any()}
    rows = [
        [names.get(line["forecaster"], line["forecaster"]), *(_with_bounds(line, column) for column in columns)]
        for line in table.to_dict("records")
    ]
    return _table([_("Forecaster"), *columns.values()], rows)


def _pairs(table: pd.DataFrame, names: Mapping[str, str]) -> str:
    def interval(line: dict[str, Any], measure: str) -> str:
        value, low, high = (line[f"{measure}_{bound}"] for bound in ("value", "low", "high"))
        return "" if pd.isna(value) else f"{value:+.4f} [{low:+.4f}, {high:+.4f}]"

    rows = [
        [
            names.get(line["first"], line["first"]),
            names.get(line["second"], line["second"]),
            interval(line, "log_loss"),
            interval(line, "matthews"),
        ]
        for line in table.to_dict("records")
    ]
    return _table(
        [
            _("First"),
            _("Second"),
            _("Difference in log loss"),
            _("Difference in Matthews"),
        ],
        rows,
    )


def _worst(table: pd.DataFrame) -> str:
    calls = [_("Down"), _("Stationary"), _("Up")]
    rows = [
        [
            line["recording"],
            f"{datetime.fromtimestamp(line['timestamp'] / 1e3, UTC):%Y-%m-%d %H:%M:%S}",
            f"{line['second']:.2f}",
            calls[int(line["called"])] if line["called"] >= 0 else "",
            calls[int(line["truth"])],
            f"{(line['p_down'], line['p_stationary'], line['p_up'])[int(line['truth'])]:.1%}",
        ]
        for line in table.to_dict("records")
    ]
    return _table(
        [_("Recording"), _("Time (UTC)"), _("Second"), _("Called"), _("What happened"), _("Probability it was given")], rows
    )


def _figure(figure: go.Figure, title: str) -> str:
    figure.update_layout(paper_bgcolor="white", plot_bgcolor="white", margin={"l": 60, "r": 20, "t": 40, "b": 50})
    shown = figure.to_html(include_plotlyjs=False, full_html=False, default_height="380px")
    return (_title(title) if title else "") + shown


def _title(text: str) -> str:
    return f"<h2>{html.escape(text)}</h2>"


def _note(text: str) -> str:
    return f"<p class=note>{html.escape(text)}</p>"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    lines = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _with_bounds(line: Mapping[str, Any], column: str) -> str:
    low, high = line.get(f"{column}_low"), line.get(f"{column}_high")
    known = low is not None and not pd.isna(low)
    return _number(line[column]) + (f" ({low:.4f} – {high:.4f})" if known else "")


def _number(value: Any) -> str:
    if pd.isna(value):
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
