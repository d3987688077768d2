"""Roles of queries, keys and values against PyTorch's attention."""

import numpy as np
import pytest
import torch

from core.lecture import attention_steps, roles, tokens


@pytest.mark.parametrize("role", ["q", "k", "v"])
def test_only_values_leave_the_weights_alone(role: roles.Role) -> None:
    x, weights = tokens.embed(["a", "b", "c", "d"], 4), attention_steps.random_weights(4)
    study = roles.role_study(x, weights, role=role, word=1, factor=3.0)
    moved, mixed = study.largest_changes
    assert (moved == 0) == (role == "v") and mixed > 1e-3
    given = {one: torch.tensor(x @ weights[f"W_{one.upper()}"]) for one in ("q", "k", "v")}
    given[role][1] *= 3.0
    after = torch.nn.functional.scaled_dot_product_attention(given["q"], given["k"], given["v"]).numpy()
    assert mixed == pytest.approx(np.abs(after - study.mixed).max())
