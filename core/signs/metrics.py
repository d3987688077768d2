"""Scores of recognised sentences: WER, BLEU and ROUGE-L with every count behind them (iiga-equations section 12).

All are of a corpus, one sentence being a corpus of one, over glosses as they are: case and spelling count, nothing is
tokenised further; `sentences` makes glosses of a text. BLEU is sacrebleu's, ROUGE-L follows section 12.4.
Where something is empty:

| | WER | BLEU | ROUGE-L |
| --- | --- | --- | --- |
| both empty | 0: there was nothing to miss | 0 | 0 |
| only the hypothesis | 1: everything was left out | 0 | 0 |
| only the reference | undefined (None): insertions over no words | 0 | 0 |
"""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq, Levenshtein
from sacrebleu.metrics.bleu import BLEU, BLEUScore

from core.messages import BadValue
from core.signs.edits import Edit, Operation

Sentence = Sequence[str]
MAX_ORDER: Final = 4
_OPERATIONS: Final[dict[str, Operation]] = {
    "equal": "equal",
    "replace": "substitution",
    "delete": "deletion",
    "insert": "insertion",
}


@dataclass(frozen=True, kw_only=True)
class WordErrors:
    """Section 12.1.

    Attributes:
        hits, substitutions, deletions, insertions: of all sentences together.
        words: N, of all references. alignments: one a sentence, in reading order.
    """

    hits: int
    substitutions: int
    deletions: int
    insertions: int
    alignments: tuple[tuple[Edit, ...], ...]

    @property
    def words(self) -> int:
        return self.hits + self.substitutions + self.deletions

    @property
    def errors(self) -> int:
        """S + D + I."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def rate(self) -> float | None:
        """(S + D + I) / N of the whole corpus (D20a); 0 where both sides are empty, None where only the references are."""
        if self.words:
            return self.errors / self.words
        return None if self.errors else 0.0


@dataclass(frozen=True, kw_only=True)
class NGram:
    """One n-gram of a hypothesis: how often it occurs there and in the reference; the smaller number matches."""

    words: tuple[str, ...]
    hypothesis: int
    reference: int

    @property
    def matches(self) -> int:
        return min(self.hypothesis, self.reference)


@dataclass(frozen=True, kw_only=True)
class RougeScore:
    """Section 12.4. `common` is the length of the longest common subsequence."""

    common: int
    reference_length: int
    hypothesis_length: int

    @property
    def recall(self) -> float:
        return self.common / self.reference_length if self.reference_length else 0.0

    @property
    def precision(self) -> float:
        return self.common / self.hypothesis_length if self.hypothesis_length else 0.0

    @property
    def f(self) -> float:
        """2 R P / (R + P), 0 where nothing is common."""
        return 2 * self.recall * self.precision / (self.recall + self.precision) if self.common else 0.0


def sentences(text: str) -> list[Sentence]:
    """The words of each line of a text, in Unicode's composed form (NFC): é is one letter, however it was typed."""
    return [line.split() for line in unicodedata.normalize("NFC", text).rstrip().splitlines() or [""]]


def word_errors(references: Sequence[Sentence], hypotheses: Sequence[Sentence]) -> WordErrors:
    """WER with its counts and an alignment with the fewest edits for each sentence.

    Raises:
        ValueError: where the two lists differ in length or are empty, or a gloss is empty or holds white space.
    """
    check_pairs(references, hypotheses)
    alignments = tuple(_alignment(*pair) for pair in zip(references, hypotheses, strict=True))
    counts = Counter(step.operation for steps in alignments for step in steps)
    return WordErrors(
        hits=counts["equal"],
        substitutions=counts["substitution"],
        deletions=counts["deletion"],
        insertions=counts["insertion"],
        alignments=alignments,
    )


def _alignment(reference: Sentence, hypothesis: Sentence) -> tuple[Edit, ...]:
    """One way with the fewest edits, by rapidfuzz: a pasted text may have thousands of words, whose table would take minutes.

    `edits.alignment` serves training, which has six packages and not this one; of several ways it may take another.
    """
    return tuple(
        Edit(
            operation=_OPERATIONS[part.tag],
            reference=None if part.tag == "insert" else part.src_start + step,
            hypothesis=None if part.tag == "delete" else part.dest_start + step,
        )
        for part in Levenshtein.opcodes(reference, hypothesis)
        for step in range(max(part.src_end - part.src_start, part.dest_end - part.dest_start))
    )


def bleu(references: Sequence[Sentence], hypotheses: Sequence[Sentence], *, order: int = MAX_ORDER) -> BLEUScore:
    """BLEU of orders 1 to `order`, weighted alike, one reference a sentence, without smoothing (section 12.3).

    It and its precisions are in percent, `bp` is the brevity penalty min(1, exp(1 - r / c)), `sys_len` c and `ref_len` r; of each
    order `totals` has the n-grams of the hypotheses and `counts` those that match, clipped by the reference's count.

    Raises:
        ValueError: as `word_errors`, and for an order outside 1 to 4.
    """
    if not 1 <= order <= MAX_ORDER:
        raise ValueError(f"BLEU counts n-grams of up to 1 to {MAX_ORDER} words, not {order}")
    library = BLEU(tokenize="none", smooth_method="none", max_ngram_order=order, force=True)
    check_pairs(references, hypotheses)
    score = library.corpus_score([*map(" ".join, hypotheses)], [[*map(" ".join, references)]])
    score.score = min(100.0, score.score)  # e to the mean of logarithms may end a rounding above
    return score


def ngrams(reference: Sentence, hypothesis: Sentence, order: int) -> list[NGram]:
    """Every n-gram of a hypothesis with its counts, in order of first occurrence: what BLEU adds up."""
    there = Counter(_windows(reference, order))
    return [
        NGram(words=words, hypothesis=count, reference=there[words])
        for words, count in Counter(_windows(hypothesis, order)).items()
    ]


def rouge_l(reference: Sentence, hypothesis: Sentence) -> RougeScore:
    """ROUGE-L of one sentence."""
    return RougeScore(
        common=int(LCSseq.similarity(reference, hypothesis)),
        reference_length=len(reference),
        hypothesis_length=len(hypothesis),
    )


def corpus_rouge_l(references: Sequence[Sentence], hypotheses: Sequence[Sentence]) -> float:
    """The mean of the sentences' F, as ROUGE is reported.

    Raises:
        ValueError: for no sentences, or lists of different lengths.
    """
    if not references:
        raise ValueError("a score needs one sentence or more")
    return sum(rouge_l(r, h).f for r, h in zip(references, hypotheses, strict=True)) / len(references)


def lcs_table(reference: Sentence, hypothesis: Sentence) -> NDArray[np.int64]:
    """(N + 1, M + 1): entry (i, j) the length of the longest common subsequence of the first i and the first j words.

    >>> int(lcs_table("A B C".split(), "A X C".split())[-1, -1])
    2
    """
    table = np.zeros((len(reference) + 1, len(hypothesis) + 1), dtype=np.int64)
    for i, word in enumerate(reference, start=1):
        for j, other in enumerate(hypothesis, start=1):
            table[i, j] = table[i - 1, j - 1] + 1 if word == other else max(table[i - 1, j], table[i, j - 1])
    return table


def common_words(reference: Sentence, hypothesis: Sentence) -> list[tuple[int, int]]:
    """One longest common subsequence as pairs of indices, in reading order."""
    return [
        (part.src_start + step, part.dest_start + step)
        for part in LCSseq.opcodes(reference, hypothesis)
        if part.tag == "equal"
        for step in range(part.src_end - part.src_start)
    ]


def _windows(sentence: Sentence, order: int) -> list[tuple[str, ...]]:
    return [tuple(sentence[i : i + order]) for i in range(len(sentence) - order + 1)]


def check_pairs(references: Sequence[Sentence], hypotheses: Sequence[Sentence]) -> None:
    """Refuses what cannot be compared: other numbers of sentences, and glosses of several words.

    Raises:
        BadValue: for these.
    """
    if not references or len(references) != len(hypotheses):
        raise BadValue(
            "The reference has {references} sentences and the hypothesis {hypotheses}: write one sentence per line in both.",
            references=len(references),
            hypotheses=len(hypotheses),
        )
    broken = [word for sentence in (*references, *hypotheses) for word in sentence if word.split() != [word]]
    if broken:
        raise BadValue("a gloss is one word without white space: {word!r} is not", word=broken[0])
