"""Sums over parts against plain loops."""

import numpy as np
import torch

from core.explain.measures import part_sums
from core.explain.occlusion import NEVER

RANDOM = np.random.default_rng(3)


def test_each_part_is_summed_over_what_belongs_to_it() -> None:
    values = RANDOM.normal(size=(2, 4, 6))
    parts = torch.from_numpy(RANDOM.integers(0, 5, (4, 6)))
    parts[0, 0] = NEVER
    wanted = [sum(values[k, i, j] for k in range(2) for i in range(4) for j in range(6) if parts[i, j] == p) for p in range(5)]
    np.testing.assert_allclose(part_sums(values, parts), wanted, atol=1e-12)
