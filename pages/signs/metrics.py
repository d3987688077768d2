"""The metrics lab: references and hypotheses, one sentence per line, and every count behind WER, BLEU and ROUGE-L."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any, Final

import pandas as pd
import streamlit as st

from core.figures import metrics as figures
from core.lecture import claims, notebooks
from core.lecture.claims import metrics as said
from core.lecture.shown_digits import significant_needed
from core.messages import translate
from core.signs import metrics
from core.signs.edits import edit_table
from core.signs.metrics import BleuScore, EditCell, Sentence
from pages.learn import diagram, lesson, predict, projector, take_along
from pages.learn.predict import Question
from pages.shared import controls, url_state
from pages.shared.language import N_, _, number, percent, prose, significant
from pages.shared.live_plot import static_plot
from pages.shared.stat_strip import Stat, stat_strip
from pages.signs.alignment import alignment_table, error_stats

EXAMPLES: Final[dict[str, tuple[str, str]]] = {
    N_("One of each error"): ("JOHN GIVE GIRL BOX YESTERDAY IX MOTHER", "JOHN BUY GIRL YESTERDAY IX NEW MOTHER"),
    N_("Order matters"): ("MARY VEGETABLE KNOW IX LIKE CORN", "LIKE CORN IX KNOW MARY VEGETABLE"),
    N_("Too short"): ("JOHN IX GIVE MAN IX NEW COAT", "JOHN GIVE COAT"),
    N_("Repeated words"): ("BOOK BOOK WHERE", "BOOK BOOK BOOK WHERE"),
    N_("Nothing recognised"): ("1 0 7", ""),
}
MAX_WORDS: Final = 30
"""Longest sentence whose tables are drawn."""
MAX_IN_LINK: Final = 4_000
"""Characters of a text that a link still carries."""
SIZE: Final = "metrics:size"
"""Session key of the entries of the table drawn last."""
REFERENCE, HYPOTHESIS, STEP = "ref", "hyp", "filled"
AREA: Final[dict[str, Any]] = {"widget": st.text_area, "height": "content"}


def page() -> None:
    """Top to bottom."""
    lesson.head("metrics", title=_("Metrics lab"))
    stage = projector.stage()
    if stage is None:
        st.markdown(prose("metrics_lead"))
    with nullcontext() if stage is None else stage.diagram:
        diagram.draw("metrics")
    with nullcontext() if stage is None else stage.hidden:
        references, hypotheses = _pick()
    if len(references) != len(hypotheses):
        _tell_unequal(len(references), len(hypotheses))
        return
    with nullcontext() if stage is None else stage.hidden:
        place = _pick_sentence(len(references))
    if stage is not None:
        _present(references, hypotheses, place, stage)
        return

    predict.ask(lambda: _question(references, hypotheses, place))
    _wer(references, hypotheses, place)
    _bleu(references, hypotheses, place)
    _rouge(references, hypotheses, place)
    with st.expander(_("How to read this page"), icon=":material/menu_book:"):
        st.markdown(prose("metrics_reading"))
    lesson.foot("metrics")
    take_along.offer("metrics", "", _("Metrics lab"), lambda: _taken(references, hypotheses))


def _question(references: list[Sentence], hypotheses: list[Sentence], place: int) -> Question | None:
    """The question what dropping the hypothesis's last word does to the word error rate."""
    if not hypotheses[place]:
        return None
    *kept, word = hypotheses[place]
    shorter = [*hypotheses[:place], kept, *hypotheses[place + 1 :]]
    now, then = (metrics.word_errors(references, one).rate for one in (hypotheses, shorter))
    if now is None or then is None:
        return None
    change = _("The last word of the hypothesis, “{word}”, is dropped.").format(word=word)
    key = repr((references, hypotheses, place))
    return Question(key=key, change=change, number=_("the word error rate"), before=now, after=then)


def _present(references: list[Sentence], hypotheses: list[Sentence], place: int, stage: projector.Stage) -> None:
    """On a projector: the table of edits, its entries as the dial, and the question."""
    with stage.strip:
        predict.ask(lambda: _question(references, hypotheses, place))
    with stage.figure:
        _wer(references, hypotheses, place)
    stage.code()


def _tell_unequal(references: int, hypotheses: int) -> None:
    """Tells how many sentences each side has, and what would be right."""
    sentence = _("The reference has {references} sentences and the hypothesis {hypotheses}: write one sentence per line in both.")
    controls.error_box(sentence.format(references=number(references), hypotheses=number(hypotheses)))


def _taken(references: list[Sentence], hypotheses: list[Sentence]) -> dict[str, Any]:
    errors = metrics.word_errors(references, hypotheses)
    rate = float("nan") if errors.rate is None else errors.rate
    given = {"REFERENCES": [list(one) for one in references], "HYPOTHESES": [list(one) for one in hypotheses]}
    return given | notebooks.on_screen({"rate": rate}, 4)


def _pick() -> tuple[list[Sentence], list[Sentence]]:
    """References and hypotheses: the words of each line."""
    with st.container(border=True):
        with st.container(horizontal=True):
            for name, example in EXAMPLES.items():
                st.button(_(name), key=f"metrics:{name}", on_click=_take, args=example)
        first = next(iter(EXAMPLES.values()))
        reference = url_state.text(_("Reference: what was signed"), key=REFERENCE, default=first[0], **AREA)
        hypothesis = url_state.text(_("Hypothesis: what was recognised"), key=HYPOTHESIS, default=first[1], **AREA)
        for key, written in ((REFERENCE, reference), (HYPOTHESIS, hypothesis)):
            if len(written) > MAX_IN_LINK:
                url_state.remember(key, None)
        st.caption(_("One sentence per line, as many as you like; several lines are scored together, as a corpus."))
    return metrics.sentences(reference), metrics.sentences(hypothesis)


def _pick_sentence(count: int) -> int:
    """Asks which sentence the tables show, as an index."""
    if count == 1:
        return 0
    return url_state.slider(_("Sentence that the tables show"), 1, count, key="line", default=1) - 1


def _too_long(reference: Sentence, hypothesis: Sentence) -> bool:
    """Tells whether a sentence is too long for its tables, after saying so."""
    longest = max(len(reference), len(hypothesis))
    if longest > MAX_WORDS:
        controls.notice(
            "empty",
            _("A sentence has {count} words: its tables are drawn up to {most}.").format(
                count=number(longest), most=number(MAX_WORDS)
            ),
        )
    return longest > MAX_WORDS


def _take(reference: str, hypothesis: str) -> None:
    st.session_state.update({REFERENCE: reference, HYPOTHESIS: hypothesis})
    st.session_state.pop(STEP, None)
    st.session_state.pop(f"{STEP}:kept", None)


def _wer(references: list[Sentence], hypotheses: list[Sentence], place: int) -> None:
    st.header(_("Word error rate"), anchor=False)
    errors = metrics.word_errors(references, hypotheses)
    stat_strip(error_stats(errors))
    if errors.rate is None:
        controls.notice("empty", _("Without words in the reference the rate divides by zero: it is undefined."))
    reference, hypothesis, steps = references[place], hypotheses[place], errors.alignments[place]
    if _too_long(reference, hypothesis):
        alignment_table(steps, reference, hypothesis)
        return
    table = edit_table(reference, hypothesis)
    size = (len(reference) + 1) * (len(hypothesis) + 1)
    filled = _filled(size)
    left, right = st.columns([3, 2])
    whole = filled == size
    with left:
        path = figures.alignment_path(steps) if whole else []
        static_plot(
            figures.table_figure(table, reference, hypothesis, filled=filled, path=path),
            key="metrics_table",
            filename="levenshtein",
            alt=_("Levenshtein's table: the fewest edits between the beginnings of both sentences."),
        )
    with right:
        st.markdown(_cell(metrics.edit_cell(table, reference, hypothesis, filled - 1), reference, hypothesis))
        if whole:
            alignment_table(steps, reference, hypothesis)
        else:
            st.caption(_("The alignment appears when the table is full."))


def _filled(size: int) -> int:
    """Asks how many entries of the table are filled: a full table stays full when its sentences grow."""
    state = st.session_state
    before = state.get(SIZE)
    if before is not None and state.get(STEP) == before:
        for key in (STEP, f"{STEP}:kept"):
            state.pop(key, None)
    state[SIZE] = size
    return size if size < 2 else url_state.slider(_("Entries filled"), 1, size, key=STEP, default=size)


def _cell(cell: EditCell, reference: Sentence, hypothesis: Sentence) -> str:
    place = _("**Entry ({row}, {column}) = {value}.**").format(row=cell.row, column=cell.column, value=cell.value)
    (sentence,) = claims.sentences_of(said.entry(cell, reference, hypothesis))
    return f"{place} {translate(sentence)}"


def _bleu(references: list[Sentence], hypotheses: list[Sentence], place: int) -> None:
    """BLEU with all its counts."""
    reference, hypothesis = references[place], hypotheses[place]
    st.header(_("BLEU"), anchor=False)
    orders = {str(order): f"BLEU-{order}" for order in range(1, metrics.MAX_ORDER + 1)}
    order = int(url_state.choice(st.segmented_control, _("n-grams up to"), orders, key="ngrams", default="4", required=True))
    score = metrics.bleu(references, hypotheses, order=order)
    stat_strip(
        [
            Stat(name=f"BLEU-{order}", value=percent(score.score, 2)),
            Stat(name=_("Brevity penalty"), value=number(score.brevity, 4), note=_("min(1, exp(1 − r/c))")),
            Stat(name=_("Reference length r"), value=number(score.reference_length)),
            Stat(name=_("Hypothesis length c"), value=number(score.hypothesis_length)),
        ]
    )
    left, right = st.columns([2, 3])
    with left:
        st.dataframe(_bleu_counts(score, order), hide_index=True)
        st.latex(_bleu_formula(score, order))
    with right:
        grams = _ngram_counts(reference, hypothesis, order)
        if len(grams):
            st.dataframe(grams, hide_index=True, height="content" if len(grams) <= 8 else 320)
        for sentence in claims.sentences_of(said.zero(score, len(hypothesis))):
            st.caption(translate(sentence))


def _bleu_counts(score: BleuScore, order: int) -> pd.DataFrame:
    """A row an order of n-grams: matches, number, precision."""
    return pd.DataFrame(
        {
            _("n"): range(1, order + 1),
            _("Matches"): score.matches,
            _("In the hypothesis"): score.totals,
            _("Precision"): [percent(precision, 2) for precision in score.precisions],
        }
    )


def _ngram_counts(reference: Sentence, hypothesis: Sentence, order: int) -> pd.DataFrame:
    """A row an n-gram of the hypothesis, up to an order."""
    return pd.DataFrame(
        [
            {
                _("n"): n,
                _("n-gram"): " ".join(gram.words),
                _("In the hypothesis"): gram.hypothesis,
                _("In the reference"): gram.reference,
                _("Matches"): gram.matches,
            }
            for n in range(1, order + 1)
            for gram in metrics.ngrams(reference, hypothesis, n)
        ]
    )


def _bleu_formula(score: metrics.BleuScore, order: int) -> str:
    def tex(value: float, digits: int = 3) -> str:
        return significant(value, digits).replace(",", "{,}")

    def value(brevity: float, *precisions: float) -> float:
        return brevity * math.prod(precisions) ** (1 / order)

    digits = significant_needed(value, score.brevity, *score.precisions)
    product = r" \cdot ".join(tex(precision, digits) for precision in score.precisions)
    root = f"({product})^{{1/{order}}}" if order > 1 else product
    return rf"\text{{BLEU}} = {tex(score.brevity, digits)} \cdot {root} = {tex(score.score)}"


def _rouge(references: list[Sentence], hypotheses: list[Sentence], place: int) -> None:
    st.header(_("ROUGE-L"), anchor=False)
    reference, hypothesis = references[place], hypotheses[place]
    score = metrics.rouge_l(reference, hypothesis)
    if len(references) > 1:
        mean = percent(metrics.corpus_rouge_l(references, hypotheses), 2)
        st.caption(
            _("Mean F of {count} sentences: {mean}. Below, sentence {place}.").format(
                count=number(len(references)), mean=mean, place=number(place + 1)
            )
        )
    stat_strip(
        [
            Stat(name="ROUGE-L F", value=percent(score.f, 2), note="2RP / (R + P)"),
            Stat(name=_("Common subsequence"), value=number(score.common)),
            Stat(name=_("Recall R"), value=percent(score.recall, 2), note=f"{score.common} / {score.reference_length}"),
            Stat(name=_("Precision P"), value=percent(score.precision, 2), note=f"{score.common} / {score.hypothesis_length}"),
        ]
    )
    if _too_long(reference, hypothesis):
        return
    common = metrics.common_words(reference, hypothesis)
    kept_reference, kept_hypothesis = {i for i, _j in common}, {j for _i, j in common}
    left, right = st.columns([3, 2])
    with left:
        path = [(i + 1, j + 1) for i, j in common]
        static_plot(
            figures.table_figure(metrics.lcs_table(reference, hypothesis), reference, hypothesis, path=path, keep="lcs"),
            key="metrics_lcs",
            filename="lcs",
            alt=_("Table of the longest common subsequence of the beginnings of both sentences."),
        )
    with right:
        for name, words, kept in (
            (_("Reference"), reference, kept_reference),
            (_("Hypothesis"), hypothesis, kept_hypothesis),
        ):
            marked = " ".join(f"**{word}**" if place in kept else f":gray[{word}]" for place, word in enumerate(words))
            st.markdown(f"{name}: {marked or '–'}")
        st.caption(_("Bold: a longest common subsequence, the same words in the same order, gaps allowed."))


page()
