"""Diagram of the sentence metrics: edits to WER, n-grams to BLEU, a common subsequence to ROUGE-L (iiga-equations 12)."""

from __future__ import annotations

from core.figures.learn.diagrams.blocks import Block, Diagram, Wire, shape
from core.messages import translate as _


def metrics_diagram(
    *,
    words: tuple[str, str],
    table: tuple[int, int],
    edits: str,
    matches: str,
    common: str,
    rate: str,
    orders: int,
    bleu: str,
    rouge: str,
    sentence: str = "",
) -> Diagram:
    """From a reference and a hypothesis to the three scores.

    Args:
        words: of the references and of the hypotheses. table: rows and columns of the sentence's tables.
        edits, matches, common: errors, matching n-grams, words of the common subsequence.
        orders: of the n-grams. rate, bleu, rouge: the scores. All are written in the reader's language.
        sentence: number of the one whose tables and ROUGE-L are shown, where there are several; WER and BLEU are of all.
    """
    return Diagram(
        title=_("Block diagram of the sentence metrics"),
        blocks=(
            Block(code="reference", label=_("reference"), at=(0, 0.5), note=words[0], kind="data"),
            Block(code="hypothesis", label=_("hypothesis"), at=(0, 1.5), note=words[1], kind="data"),
            Block(code="edits", label=_("edits"), at=(2, 0), note=shape(table), part="#metrics_table"),
            Block(code="grams", label=_("n-grams"), at=(2, 1), note=_("up to {count}").format(count=orders), part="#ngrams"),
            Block(code="common", label=_("common"), at=(2, 2), note=shape(table), part="#metrics_lcs"),
            Block(code="wer", label="WER", at=(4, 0), note=rate, part="#metrics_table", kind="data"),
            Block(code="bleu", label="BLEU", at=(4, 1), note=bleu, part="#ngrams", kind="data"),
            Block(
                code="rouge",
                label=_("ROUGE-L of {sentence}").format(sentence=sentence) if sentence else "ROUGE-L",
                at=(4, 2),
                note=rouge,
                part="#metrics_lcs",
                kind="data",
            ),
        ),
        wires=(
            Wire(source="reference", target="edits", label=words[0]),
            Wire(source="reference", target="grams"),
            Wire(source="reference", target="common"),
            Wire(source="hypothesis", target="edits"),
            Wire(source="hypothesis", target="grams"),
            Wire(source="hypothesis", target="common", label=words[1]),
            Wire(source="edits", target="wer", label=f"{edits} / {words[0]}"),
            Wire(source="grams", target="bleu", label=_("{count} matches").format(count=matches)),
            Wire(source="common", target="rouge", label=_("{count} in order").format(count=common)),
        ),
    )
