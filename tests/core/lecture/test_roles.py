"""Roles of queries, keys and values against PyTorch's attention; the notebook's ids."""

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


def test_the_notebooks_ids_tell_one_cat_from_the_other() -> None:
    assert len(set(roles.cat_ids(as_written=True))) == 6 and len(set(roles.cat_ids(as_written=False))) == 5
    x = roles.embedding(roles.cat_ids(as_written=False))
    assert x.shape == (6, roles.CAT_WIDTH) and (x[1] == x[5]).all() and (x[1] != x[2]).any()
    weights, mixed = roles.attend(x, x, x)
    twin = torch.nn.functional.scaled_dot_product_attention(*[torch.tensor(x)] * 3).numpy()
    np.testing.assert_allclose(mixed, twin, atol=1e-9)
    np.testing.assert_allclose(weights[1], weights[5], atol=1e-12)
