"""Claims about cost, against sums written out and PyTorch's counter by operation."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from core.lecture import cost, cost_count, cost_growth
from core.lecture.claims import cost as claims
from tests.core.lecture.claims.walk import Walk, states


def test_what_a_layer_is_spent_on() -> None:
    walk = Walk(claims.growth)
    for state in states(t=[128, 4, 32, 8192], d=[40, 16, 512, 2048]):
        t, d = state["t"], state["d"]
        scores, projections, feed = 2 * t * t * d, 4 * t * d * d, 8 * t * d * d
        whole = (scores + projections + feed) / 100
        shares = {"t": t, "d": d, "scores": scores / whole, "projections": projections / whole, "feed": feed / whole}
        walk.check(cost_growth.layer(t, d, 1), {"shares": shares}, state)
    walk.end()


def test_what_is_said_of_all_models() -> None:
    """Attention is mostly projections, IIGA four fifths convolutions, and most models lie below T = 6D."""
    for code, setup in cost_count.setups().items():
        with torch.device("meta"), FlopCounterMode(display=False) as counter, torch.no_grad():
            cost_count.build(setup.config)(*setup.config.example_inputs(setup.tokens), return_attention=True)
        scores = counter.get_flop_counts()["Global"].get(torch.ops.aten.bmm, 0) // 2
        sums = cost.macs_by_kind(cost.parts(setup.config, setup.tokens))
        assert 0 < scores < sums["attention"] / 2, code
        if code == "iiga":
            assert sums["convolution"] / sum(sums.values()) == pytest.approx(0.8, abs=0.02)
    setups = cost_count.setups().values()
    below = [cost.tokens_of(one.config, one.tokens) < 6 * one.config.width for one in setups]
    assert sum(below) > len(below) / 2
