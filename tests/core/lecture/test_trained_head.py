"""The trained head of the lesson on attention: held against the whole head's weights and against MiniLM."""

import numpy as np
import pytest
from scipy.special import softmax

from core.lecture import trained_head
from core.words.model_files import WORD_FILES
from core.words.sentences import sentence_reader


def weights(matrices: dict[str, np.ndarray]) -> np.ndarray:
    x, width = matrices["X"], matrices["W_K"].shape[1]
    return np.asarray(softmax((x @ matrices["W_Q"]) @ (x @ matrices["W_K"]).T / np.sqrt(width), axis=1))


def test_four_channels_look_where_the_whole_head_looks() -> None:
    head = trained_head.trained_head()
    cut = weights(head.matrices)
    assert np.abs(cut - head.whole).max() < 0.06
    np.testing.assert_array_equal(cut.argmax(axis=1), head.whole.argmax(axis=1))
    looks = {word: head.tokens[at] for word, at in zip(head.tokens, head.whole.argmax(axis=1), strict=True)}
    assert (looks["it"], looks["was"], looks["milk"], looks["thirsty"]) == ("cat", "thirsty", "[CLS]", "[CLS]")


@pytest.mark.skipif(not WORD_FILES.available(), reason="needs `make words`")
def test_the_bundled_weights_are_minilms() -> None:
    head, layer, number = trained_head.trained_head(), trained_head.LAYER - 1, trained_head.HEAD - 1
    read = sentence_reader().read(trained_head.SENTENCE)
    assert read.tokens == head.tokens
    np.testing.assert_allclose(head.whole, read.weights[layer, number], atol=1e-3)
