"""WER, BLEU and ROUGE-L against their libraries and against counts by hand."""

import unicodedata
from itertools import pairwise
from math import exp, log

import jiwer
import numpy as np
import pytest
from rouge_score import rouge_scorer
from rouge_score.tokenizers import Tokenizer
from sacrebleu.metrics import BLEU

from core.signs import metrics
from core.signs.edits import word_error_rate

WORDS = ["JOHN", "IX-1P", "GIVE", "book", "fs-JOHN", "5"]


class Spaces(Tokenizer):
    """rouge-score's own tokeniser drops case and punctuation, which glosses have."""

    def tokenize(self, text):
        return text.split()


def pairs(count: int, *, shortest: int = 0) -> list[tuple[list[str], list[str]]]:
    random = np.random.default_rng(shortest)
    found = []
    for _ in range(count):
        reference = random.choice(WORDS, int(random.integers(shortest, 12))).tolist()
        kept = [word for word in reference if random.random() > 0.2]
        noise = random.choice(WORDS, int(random.integers(0, 4))).tolist()
        found.append((reference, kept[:6] + noise + kept[6:] if random.random() < 0.9 else []))
    return found


def test_a_text_of_thousands_of_words_is_aligned():
    """Longer than a table could be: two of these would have 400 million entries."""
    random = np.random.default_rng(3)
    reference, hypothesis = ([str(word) for word in random.integers(0, 50, 20_000)] for _ in range(2))
    hypothesis[:15_000] = reference[100:15_100]
    found = metrics.word_errors([reference], [hypothesis])
    assert found.rate == pytest.approx(jiwer.wer(" ".join(reference), " ".join(hypothesis)))
    assert found.hits + found.substitutions + found.deletions == len(reference)


def test_one_word_typed_in_two_ways_is_one_word():
    composed, apart = (unicodedata.normalize(form, "SEÑOR café\nmañana") for form in ("NFC", "NFD"))
    assert composed != apart and metrics.sentences(apart) == metrics.sentences(composed) == [["SEÑOR", "café"], ["mañana"]]
    assert metrics.sentences("") == [[]] and metrics.sentences("\nA\n") == [[], ["A"]]


@pytest.mark.parametrize("words", range(1, 30))
def test_bleu_of_the_same_sentence_is_one(words):
    sentence = [WORDS[place % len(WORDS)] for place in range(words)]
    for order in range(1, min(words, 4) + 1):
        assert 100 - 1e-13 <= metrics.bleu([sentence], [sentence], order=order).score <= 100


def test_a_corpus_is_one_sum_over_another():
    references, hypotheses = zip(*pairs(200), strict=True)
    found = metrics.word_errors(references, hypotheses)
    assert found.rate == pytest.approx(word_error_rate(references, hypotheses))
    assert found.rate == pytest.approx(jiwer.wer([" ".join(r) for r in references], [" ".join(h) for h in hypotheses]))
    assert len(found.alignments) == 200


def test_bleu_equals_sacrebleu_and_its_formula_on_a_thousand_pairs():
    for place, (reference, hypothesis) in enumerate(pairs(1000, shortest=1)):
        order = 1 + place % 4
        found = metrics.bleu([reference], [hypothesis], order=order)
        library = BLEU(tokenize="none", smooth_method="none", max_ngram_order=order)
        assert found.score == pytest.approx(library.corpus_score([" ".join(hypothesis)], [[" ".join(reference)]]).score)
        if found.score:
            logs = sum(log(p) for p in found.precisions) / order
            assert found.score == pytest.approx(found.bp * exp(logs))
        for n in range(1, order + 1):
            grams = metrics.ngrams(reference, hypothesis, n)
            if hypothesis:
                assert sum(gram.matches for gram in grams) == found.counts[n - 1]
            assert sum(gram.hypothesis for gram in grams) == found.totals[n - 1]


def test_rouge_l_equals_rouge_score_on_a_thousand_pairs():
    scorer = rouge_scorer.RougeScorer(["rougeL"], tokenizer=Spaces())
    every = pairs(1000)
    expected = []
    for reference, hypothesis in every:
        found, library = metrics.rouge_l(reference, hypothesis), scorer.score(" ".join(reference), " ".join(hypothesis))["rougeL"]
        assert (found.precision, found.recall, found.f) == pytest.approx((library.precision, library.recall, library.fmeasure))
        common = metrics.common_words(reference, hypothesis)
        assert len(common) == found.common == metrics.lcs_table(reference, hypothesis)[-1, -1]
        assert [reference[i] for i, _ in common] == [hypothesis[j] for _, j in common]
        assert all(a < c and b < d for (a, b), (c, d) in pairwise(common))
        expected.append(library.fmeasure)
    assert metrics.corpus_rouge_l(*zip(*every, strict=True)) == pytest.approx(np.mean(expected))


def test_empty_sides_are_defined():
    some: list[str] = ["A", "B"]
    cases = {"both": ([], [], 0.0), "hypothesis": (some, [], 1.0), "reference": ([], some, None)}
    for reference, hypothesis, rate in cases.values():
        found = metrics.word_errors([reference], [hypothesis])
        assert found.rate == rate
        assert found.errors == len(reference) + len(hypothesis)
        assert metrics.bleu([reference], [hypothesis]).score == 0
        assert metrics.rouge_l(reference, hypothesis).f == 0
        assert metrics.common_words(reference, hypothesis) == []
        assert metrics.ngrams(reference, hypothesis, 2) in ([], metrics.ngrams([], some, 2))
    assert metrics.word_errors([[], some], [some, some]).rate == 1.0  # insertions count wherever they are


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ValueError, match="1 sentences and the hypothesis 2"):
        metrics.word_errors([["A"]], [["A"], ["B"]])
    with pytest.raises(ValueError, match="without white space: 'A B'"):
        metrics.bleu([["A B"]], [["A"]])
    with pytest.raises(ValueError, match="not 5"):
        metrics.bleu([["A"]], [["A"]], order=5)
    with pytest.raises(ValueError, match="one sentence or more"):
        metrics.corpus_rouge_l([], [])
