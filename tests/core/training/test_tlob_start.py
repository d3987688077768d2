"""A model of named columns that starts from the weights of one with `drift` inputs computes the same function."""

from __future__ import annotations

import numpy as np
import torch

from core import checkpoints
from core.market.features import directed_inputs, fit_constants, input_names, transform
from core.market.predictor import windows_of
from core.models.tlob import TLOB, TLOBConfig
from core.training.tlob_start import fit_inputs
from tests.core.market.helpers import EXCERPTS, read_rows, tiny_config, tiny_model


@torch.no_grad()
def test_it_answers_as_the_earlier_model_did() -> None:
    rows = read_rows(EXCERPTS[0])
    earlier = tiny_model(tiny_config())
    constants = fit_constants(rows.levels, earlier.config.steps)
    windows = windows_of(rows.levels, np.arange(200, 260, 7), earlier.config.steps)
    drift = torch.from_numpy(transform(windows, "drift", constants))
    norm = earlier.bin_norm
    norm.batch_norm.running_mean.copy_(drift.mean(dim=(0, 1)))  # a step has the same statistics on both sides
    norm.batch_norm.running_var.copy_(drift.var(dim=(0, 1)) + 0.1)
    norm.batch_norm.bias.copy_(torch.rand(40))
    norm.instance_norm.bias.copy_(torch.rand(40))
    norm.batch_norm.weight.copy_(torch.rand(40) + 0.5)
    norm.instance_norm.weight.copy_(2 * norm.batch_norm.weight)  # in proportion, which makes the sum of two sides exact
    config = earlier.config.to_dict() | {"features": len(input_names("flow")), "directed": directed_inputs("flow")}
    model = TLOB(TLOBConfig(**config)).eval()
    model.load_state_dict(fit_inputs(model.state_dict(), "flow", earlier.state_dict()))
    flow = torch.from_numpy(transform(windows, "flow", constants))
    torch.testing.assert_close(model(flow), earlier(drift), atol=1e-4, rtol=1e-4)


def test_weights_of_the_same_columns_stay_as_they_are() -> None:
    weights = checkpoints.load("tlob_document").weights
    kept = fit_inputs(weights, "ladder", weights)
    assert all(torch.equal(kept[name], value) for name, value in weights.items())
