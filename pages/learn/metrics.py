"""Metrics: references and hypotheses, one sentence per line, and every count behind WER, BLEU and ROUGE-L."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, Final

import streamlit as st

from core.figures import metrics as figures
from core.lecture.notebooks import on_screen
from core.lecture.shown_digits import significant_needed
from core.messages import BadValue, Message, Refusal
from core.signs import metrics
from core.signs.edits import Edit, edit_table
from core.signs.metrics import Sentence
from pages.learn.frame import Dial, Elsewhere, Worked, choice, passage, slider, tex_significant
from pages.learn.lesson_page import Item, LessonPage, Part, PartView, Show, caption, markdown, plot, render, stats, table
from pages.shared import url_state
from pages.shared.language import N_, _, number, percent
from pages.shared.stat_strip import Stat

EXAMPLES: Final[dict[str, tuple[str, str]]] = {
    N_("One of each error"): ("JOHN GIVE GIRL BOX YESTERDAY IX MOTHER", "JOHN BUY GIRL YESTERDAY IX NEW MOTHER"),
    N_("Order matters"): ("MARY VEGETABLE KNOW IX LIKE CORN", "LIKE CORN IX KNOW MARY VEGETABLE"),
    N_("Too short"): ("JOHN IX GIVE MAN IX NEW COAT", "JOHN GIVE COAT"),
    N_("Repeated words"): ("BOOK BOOK WHERE", "BOOK BOOK BOOK WHERE"),
    N_("Nothing recognised"): ("1 0 7", ""),
}
FIRST: Final = next(iter(EXAMPLES.values()))
MAX_WORDS: Final = 30
"""Longest sentence whose tables are drawn."""
MAX_CHARACTERS: Final = 60_000
"""Characters of a text whose words are counted; the field takes more, so that a paste is refused and not cut."""
MAX_TEXT_WORDS: Final = 5_000
"""Words of a text that are compared: within a twentieth of a second, for which no other visitor waits."""
MAX_IN_LINK: Final = 4_000
"""Characters of a text that a link still carries."""
REFERENCE, HYPOTHESIS, LINE = "ref", "hyp", "line"


def examples() -> dict[str, Any]:
    """Buttons that put an example into both fields."""
    with st.container(horizontal=True):
        for name, (reference, hypothesis) in EXAMPLES.items():
            taken = {REFERENCE: reference, HYPOTHESIS: hypothesis}
            st.button(_(name), key=f"metrics:{name}", on_click=st.session_state.update, args=(taken,))
    return {}


def area(label: str, key: str, default: str, _values: Mapping[str, Any]) -> str:
    """Asks for a text; one that a link cannot hold stays out of it."""
    written = url_state.text(
        label,
        key=key,
        default=default,
        widget=st.text_area,
        height="content",
        help=_("Up to {words} words; one sentence per line.").format(words=number(MAX_TEXT_WORDS)),
    )
    if len(written) > MAX_IN_LINK:
        url_state.remember(key, None)
    return written


def shorter(hypothesis: str) -> Elsewhere:
    """The same without its last word."""
    kept = " ".join(hypothesis.split(" ")[:-1])
    return Elsewhere(kept, {HYPOTHESIS: kept})


def line_dial() -> Dial | None:
    """The sentence whose tables are shown, of several."""
    lines = len(metrics.sentences((url_state.upcoming(REFERENCE) or FIRST[0])[:MAX_CHARACTERS]))
    return slider(_("Sentence"), 1, lines, key=LINE, default=1, reads=True) if lines > 1 else None


@dataclass(frozen=True, kw_only=True)
class Texts:
    """The reader's sentences, one a line, and the pair whose tables are shown; the fields are the dials."""

    reference: Annotated[str, Dial(_("Reference"), partial(area, _("Reference"), REFERENCE, FIRST[0]))]
    hypothesis: Annotated[str, Dial(_("Hypothesis"), partial(area, _("Hypothesis"), HYPOTHESIS, FIRST[1]), elsewhere=shorter)]
    line: Annotated[int, line_dial()] = 1

    @cached_property
    def pairs(self) -> tuple[list[Sentence], list[Sentence]]:
        """The words of each line, of references and hypotheses.

        Raises:
            BadValue: where one side has more sentences than the other, or more than may be compared.
        """
        longest = max(len(self.reference), len(self.hypothesis))
        if longest > MAX_CHARACTERS:
            raise BadValue("the text has {count} characters: up to {most} are compared", count=longest, most=MAX_CHARACTERS)
        references, hypotheses = metrics.sentences(self.reference), metrics.sentences(self.hypothesis)
        longest = max(sum(map(len, text)) for text in (references, hypotheses))
        if longest > MAX_TEXT_WORDS:
            raise BadValue("the text has {count} words: up to {most} are compared", count=longest, most=MAX_TEXT_WORDS)
        metrics.check_pairs(references, hypotheses)
        return references, hypotheses

    @property
    def place(self) -> int:
        """Of the pair, from 0."""
        return min(self.line, len(self.pairs[0])) - 1

    @property
    def pair(self) -> tuple[Sentence, Sentence]:
        """Reference and hypothesis of the tables."""
        references, hypotheses = self.pairs
        return references[self.place], hypotheses[self.place]

    @property
    def too_long(self) -> str:
        """Says that the pair is too long for a table; empty where it is not."""
        longest = max(map(len, self.pair))
        note = _("A sentence has {count} words: its tables are drawn up to {most}.")
        return note.format(count=number(longest), most=number(MAX_WORDS)) if longest > MAX_WORDS else ""


def last_entry(values: Mapping[str, Any]) -> int:
    """Place of the last entry of Levenshtein's table."""
    reference, hypothesis = Texts(**values).pair
    return (len(reference) + 1) * (len(hypothesis) + 1) - 1


ORDERS: Final = {str(order): f"BLEU-{order}" for order in range(1, metrics.MAX_ORDER + 1)}
"""The longest n-grams that are counted."""


def alignment(steps: Sequence[Edit], reference: Sequence[str], hypothesis: Sequence[str]) -> Show:
    """One row a step, in reading order."""
    kinds = {
        "equal": _("equal"),
        "substitution": _("S substitution"),
        "deletion": _("D deletion"),
        "insertion": _("I insertion"),
    }
    rows = [
        {
            _("Reference"): "" if step.reference is None else reference[step.reference],
            _("Hypothesis"): "" if step.hypothesis is None else hypothesis[step.hypothesis],
            _("Step"): kinds[step.operation],
        }
        for step in steps
    ]
    nothing = _("Both sentences are empty: there is nothing to align.")
    return table(rows, height=min(38 + 35 * len(rows), 320)).show if rows else caption(nothing)


def edits(
    it: Texts, left: Annotated[int, slider(_("Entries still to fill"), 0, last_entry, key="left", default=0, reads=True)]
) -> PartView:
    """Word error rate, by Levenshtein's table entry by entry."""
    errors = metrics.word_errors(*it.pairs)
    steps, counts = errors.alignments[it.place], (errors.substitutions, errors.deletions, errors.insertions)
    added = " + ".join(map(str, counts))
    worked = Worked(
        r"\text{WER} = \frac{\text{S} + \text{D} + \text{I}}{\text{N}}",
        rf"\frac{{{added}}}{{{errors.words}}} = {tex_significant(errors.rate)}"
        if errors.words and errors.rate is not None
        else "",
        "" if errors.rate is not None else _("Without words in the reference the rate divides by zero: it is undefined."),
    )
    aligned = alignment(steps, *it.pair)
    drawn: list[Item] = [caption(it.too_long), aligned]
    notes: list[str | Message] = []
    if not it.too_long:
        values = edit_table(*it.pair)
        filled = max(1, values.size - left)
        row, column = place = divmod(filled - 1, len(it.pair[1]) + 1)
        path = figures.alignment_path(steps) if filled == values.size else [place]
        alt = _("Levenshtein's table: the fewest edits between the beginnings of both sentences.")
        last = aligned if filled == values.size else caption(_("The alignment appears when the table is full."))
        shown = figures.sentences_table(values, *it.pair, name="Levenshtein", path=path, filled=filled)
        drawn = [plot(shown, "metrics_table", alt), last]
        entry = _("**Entry ({row}, {column}) = {value}.**").format(row=row, column=column, value=values[place])
        notes = [entry, figures.about_entry(values, *it.pair, place)]
    return PartView(
        equation=worked,
        figure=[
            *drawn,
            stats(
                Stat(
                    name="WER",
                    value=_("undefined") if errors.rate is None else percent(errors.rate),
                    note=f"(S + D + I) / N = {number(errors.errors)} / {number(errors.words)}",
                ),
                Stat(name=_("Substitutions S"), value=number(errors.substitutions)),
                Stat(name=_("Deletions D"), value=number(errors.deletions)),
                Stat(name=_("Insertions I"), value=number(errors.insertions)),
                Stat(name=_("Words") + " N", value=number(errors.words)),
            ),
        ],
        notes=[*notes, passage("metrics", "edits")],
        more=[markdown(passage("metrics", "corpus"))],
        asked=None if errors.rate is None else lambda: (_("the word error rate"), float(errors.rate or 0)),
        notebook_values=lambda: {
            "REFERENCES": [list(one) for one in it.pairs[0]],
            "HYPOTHESES": [list(one) for one in it.pairs[1]],
            **on_screen({"rate": float("nan") if errors.rate is None else errors.rate}, 4),
        },
    )


def bleu(it: Texts, order: Annotated[int, choice(_("n-grams up to"), ORDERS, key="ngrams", default="4", value=int)]) -> PartView:
    """BLEU with all its counts."""
    score = metrics.bleu(*it.pairs, order=order)
    whole, precisions = score.score / 100, [precision / 100 for precision in score.precisions]
    counts = {
        "n": range(1, order + 1),
        _("Matches"): score.counts,
        _("In the hypothesis"): score.totals,
        _("Precision"): [percent(precision, 2) for precision in precisions],
    }
    grams = [
        {
            "n": n,
            _("n-gram"): " ".join(gram.words),
            _("In the hypothesis"): gram.hypothesis,
            _("In the reference"): gram.reference,
            _("Matches"): gram.matches,
        }
        for n in range(1, order + 1)
        for gram in metrics.ngrams(*it.pair, n)
    ]
    digits = significant_needed(lambda bp, *given: bp * math.prod(given) ** (1 / order), score.bp, *precisions)
    product = r" \cdot ".join(tex_significant(precision, digits) for precision in precisions)
    root = f"({product})^{{1/{order}}}" if order > 1 else product
    return PartView(
        equation=Worked(
            rf"\text{{BLEU}} = \text{{BP}} \cdot \Bigl(\prod \text{{precision}}\Bigr)^{{1/{order}}}",
            rf"{tex_significant(score.bp, digits)} \cdot {root} = {tex_significant(whole)}",
        ),
        figure=[
            [table(counts), table(grams, height="content" if len(grams) <= 8 else 320)] if grams else table(counts),
            stats(
                Stat(name=f"BLEU-{order}", value=percent(whole, 2)),
                Stat(name=_("Brevity penalty"), value=number(score.bp, 4), note=_("min(1, exp(1 − r/c))")),
                Stat(name=_("Reference length r"), value=number(score.ref_len)),
                Stat(name=_("Hypothesis length c"), value=number(score.sys_len)),
            ),
        ],
        asked=lambda: (f"BLEU-{order}", whole),
    )


def rouge(it: Texts) -> PartView:
    """ROUGE-L, by the table of the longest common subsequence."""
    score = metrics.rouge_l(*it.pair)
    digits = significant_needed(lambda r, p: 2 * r * p / (r + p), score.recall, score.precision) if score.common else 3
    r, p = (tex_significant(one, digits) for one in (score.recall, score.precision))
    drawn: Item = caption(it.too_long)
    words: list[Item] = []
    if not it.too_long:
        common = metrics.common_words(*it.pair)
        alt = _("Table of the longest common subsequence of the beginnings of both sentences.")
        path = [(i + 1, j + 1) for i, j in common]
        shown = figures.sentences_table(metrics.lcs_table(*it.pair), *it.pair, name="LCS", path=path)
        drawn = plot(shown, "metrics_lcs", alt)
        sides = zip((_("Reference"), _("Hypothesis")), it.pair, zip(*common, strict=True) if common else ((), ()), strict=True)
        words = [markdown(f"{name}: {_marked(side, kept)}") for name, side, kept in sides]
        words.append(caption(_("Bold: a longest common subsequence, the same words in the same order, gaps allowed.")))
    mean = _("Mean F of {count} sentences: {mean}. Below, sentence {place}.").format(
        count=number(len(it.pairs[0])),
        mean=percent(metrics.corpus_rouge_l(*it.pairs), 2),
        place=number(it.place + 1),
    )
    return PartView(
        equation=Worked(
            r"\text{F} = \frac{2\,\text{R}\,\text{P}}{\text{R} + \text{P}}",
            rf"\frac{{2 \cdot {r} \cdot {p}}}{{{r} + {p}}} = {tex_significant(score.f)}" if score.common else "",
        ),
        figure=[
            drawn,
            *([caption(mean)] if len(it.pairs[0]) > 1 else []),
            stats(
                Stat(name="ROUGE-L F", value=percent(score.f, 2), note="2RP / (R + P)"),
                Stat(name=_("Common subsequence"), value=number(score.common)),
                Stat(name=_("Recall R"), value=percent(score.recall, 2), note=f"{score.common} / {score.reference_length}"),
                Stat(
                    name=_("Precision") + " P",
                    value=percent(score.precision, 2),
                    note=f"{score.common} / {score.hypothesis_length}",
                ),
            ),
            *words,
        ],
        asked=lambda: ("ROUGE-L F", score.f),
    )


def _marked(words: Sentence, kept: Sequence[int]) -> str:
    return " ".join(f"**{word}**" if place in kept else f":gray[{word}]" for place, word in enumerate(words)) or "–"


render(
    LessonPage(
        "metrics",
        _("Metrics lab"),
        [
            Part("edits", _("Word error rate"), edits, first="hypothesis", above=examples),
            Part("bleu", "BLEU", bleu, first="hypothesis", above=examples),
            Part("rouge", "ROUGE-L", rouge, first="hypothesis", above=examples),
        ],
        "iiga-equations 12; D20a",
        {Refusal: ("", "")},
    )
)
