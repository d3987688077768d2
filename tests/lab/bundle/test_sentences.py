"""The head that the lesson on attention is given: few channels of a whole one."""

import numpy as np
from scipy.special import softmax

from lab.bundle.sentences import cut
from tests.core.lecture.test_trained_head import weights


def test_a_head_of_few_channels_comes_back_whole() -> None:
    rng = np.random.default_rng(0)
    x, q, k, v = (rng.normal(size=shape) for shape in ((6, 3), (3, 3), (3, 3), (3, 3)))
    found = cut(x @ q, x @ k, x @ v, 3)
    wanted = softmax((x @ q) @ (x @ k).T / np.sqrt(3), axis=1)
    np.testing.assert_allclose(weights(found), wanted, atol=0.02)
    np.testing.assert_allclose(weights({"X": x, "W_Q": q, "W_K": k}), wanted)
