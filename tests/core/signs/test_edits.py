"""Levenshtein's table against the library jiwer."""

import jiwer
import numpy as np
import pytest

from core.signs.edits import alignment, edit_table, word_error_rate

WORDS = ["A", "B", "C", "D"]


def sentence(random: np.random.Generator, least: int = 0) -> list[str]:
    return [str(word) for word in random.choice(WORDS, int(random.integers(least, 8)))]


def test_distances_and_rates_equal_jiwers() -> None:
    random = np.random.default_rng(0)
    references = [sentence(random, 1) for _ in range(300)]
    hypotheses = [sentence(random) for _ in range(300)]
    for reference, hypothesis in zip(references, hypotheses, strict=True):
        found = jiwer.process_words(" ".join(reference), " ".join(hypothesis))
        edits = found.substitutions + found.deletions + found.insertions
        assert edit_table(reference, hypothesis)[-1, -1] == edits
        steps = alignment(reference, hypothesis)
        assert sum(step.operation != "equal" for step in steps) == edits
        assert [step.reference for step in steps if step.reference is not None] == list(range(len(reference)))
        assert [step.hypothesis for step in steps if step.hypothesis is not None] == list(range(len(hypothesis)))
        for step in steps:
            if step.reference is not None and step.hypothesis is not None:
                same = reference[step.reference] == hypothesis[step.hypothesis]
                assert step.operation == ("equal" if same else "substitution")
    whole = jiwer.wer([" ".join(one) for one in references], [" ".join(one) for one in hypotheses])
    assert word_error_rate(references, hypotheses) == pytest.approx(whole)


def test_the_table_of_a_small_case() -> None:
    assert edit_table("AB", "ACB").tolist() == [[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 1, 1]]
    assert [step.operation for step in alignment("AB", "ACB")] == ["equal", "insertion", "equal"]
    assert alignment("", "") == []
    assert [step.operation for step in alignment("AB", "")] == ["deletion", "deletion"]


def test_a_rate_without_words_is_refused() -> None:
    assert word_error_rate([["A"], []], [[], ["B"]]) == 2.0
    with pytest.raises(ValueError, match="these hold none"):
        word_error_rate([[]], [["A"]])
