"""TLOB against a numpy twin and the document's counts."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from core.lecture import cost, cost_count
from core.models.parameters import by_part, count
from core.models.tlob import BTC, TLOB, TLOBConfig, TLOBLayer, upside_down
from tests.core.models import numpy_tlob
from tests.core.models.unsettled import unsettled

SMALL = TLOBConfig(steps=9, features=8, width=6, pairs=2)


def parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


CONFIGS = [
    replace(SMALL, qkv=qkv, positions=positions, pooling=pooling, heads=heads, outputs=outputs)  # type: ignore[arg-type]
    for qkv, positions, pooling, (heads, outputs) in itertools.product(
        ("double", "single"), ("learned", "sinusoidal"), ("mean", "last", "learned"), ((1, 1), (8, 3))
    )
]


@pytest.mark.parametrize(
    "config", [*CONFIGS, BTC, replace(BTC, qkv="single", positions="sinusoidal", pooling="last", outputs=8)],
    ids=lambda c: f"{c.steps}-{c.qkv}-{c.positions}-{c.pooling}-{c.heads}h-{c.outputs}o",
)  # fmt: skip
def test_forward_equals_numpy(config: TLOBConfig) -> None:
    model = unsettled(TLOB, config)
    x = torch.randn(3, config.steps, config.features) * 2 + 1
    weights = {name: value.double().numpy() for name, value in model.state_dict().items()}
    expected, expected_maps = numpy_tlob.forward(weights, config, x.double().numpy())
    with torch.no_grad():
        logits, maps = model(x, return_attention=True)
        fused = model(x)
    shape = (3, 3) if config.outputs == 1 else (3, config.outputs, 3)
    assert logits.shape == fused.shape == shape
    np.testing.assert_allclose(logits.reshape(expected.shape), expected, atol=1e-5, rtol=0)
    np.testing.assert_allclose(fused.reshape(expected.shape), expected, atol=1e-5, rtol=0)
    for found, twin in zip(maps.values(), expected_maps, strict=True):
        np.testing.assert_allclose(found, twin, atol=1e-5, rtol=0)


def test_parameter_counts_of_the_document() -> None:
    counts = {BTC: 1_173_611, replace(BTC, positions="sinusoidal"): 1_168_491, replace(BTC, qkv="single"): 883_179}
    for config, expected in counts.items():
        model = TLOB(config)
        assert parameters(model) == count(model) == expected


def test_each_parts_share_of_the_parameters() -> None:
    """Section 6.1, a row at a time, its own sums put right (512 too many in the temporal MLP, 8 in the classifier); 6.2."""
    found = by_part(TLOB(replace(BTC, qkv="single", pooling="learned")))
    pairs = {f"layers.{index}": 198_528 - 512 if index % 2 else 19_640 for index in range(8)}
    assert found == {
        "bin_norm": 160, "embedding": 1_640, "positions": 5_120, **pairs, "classifiers.0": 5_643 - 8, "pool_logits": 128,
    }  # fmt: skip
    assert sum(found.values()) == 883_179 + 128


@pytest.mark.parametrize(("qkv", "macs"), [("double", 62.1e6), ("single", 48.4e6)])
def test_cost_a_sample(qkv: str, macs: float) -> None:
    """D7. PyTorch's counter sees the explicit path whole; on a CPU it does not see into the fused kernel."""
    config = replace(BTC, qkv=qkv)  # type: ignore[arg-type]
    model = TLOB(config).eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.zeros(1, 128, 40), return_attention=True)
    assert counter.get_total_flops() / 2 == pytest.approx(macs, rel=1e-3)
    assert cost_count.count(config, 0).macs == counter.get_total_flops() // 2
    batched = [flops for name, flops in counter.get_flop_counts()["Global"].items() if "bmm" in str(name)]
    assert 2 * cost.tlob_score_product(config, 1) == sum(batched) // 2  # Q K^T, and A V of the same size


@pytest.mark.parametrize("pairs", range(1, 13))
def test_one_to_twelve_pairs(pairs: int) -> None:
    config = replace(SMALL, pairs=pairs, qkv="single")
    model = TLOB(config).eval()
    logits, maps = model(torch.randn(2, 9, 8), return_attention=True)
    names = [name for pair in range(1, pairs + 1) for name in (f"time-to-time {pair}", f"feature-to-feature {pair}")]
    assert list(maps) == names == model.layer_names
    assert logits.shape == (2, 3)
    assert parameters(model.layers) == pairs * sum(parameters(TLOBLayer(n, 1, qkv="single", dropout=0)) for n in (6, 9))


@pytest.mark.parametrize("pairs", [0, 13, -1])
def test_other_numbers_of_pairs_are_refused(pairs: int) -> None:
    with pytest.raises(ValueError, match=f"{pairs} pairs of layers: TLOB takes 1 to 12"):
        TLOBConfig(pairs=pairs)


@pytest.mark.parametrize("field", ["steps", "features", "width", "heads", "outputs"])
def test_sizes_below_one_are_refused(field: str) -> None:
    with pytest.raises(ValueError, match="must each be 1 or more"):
        TLOBConfig(**{field: 0})


@pytest.mark.parametrize("shape", [(2, 40, 128), (2, 127, 40), (2, 128, 39), (128, 40)])
def test_a_window_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"TLOB takes windows of 128 steps x 40 features, not \("):
        TLOB(replace(BTC, pairs=1, qkv="single"))(torch.zeros(shape))


def test_every_parameter_learns() -> None:
    """A gradient reaches all of them, so nothing is built and left out of the forward pass."""
    for config in (replace(SMALL, pooling="learned", outputs=2), replace(SMALL, qkv="single", pooling="mean")):
        model = TLOB(config)
        model(torch.randn(4, 9, 8)).square().sum().backward()
        idle = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().max() > 0]
        # adding the same to every score of a query changes no softmax: a key's bias has no gradient beyond rounding
        assert [name for name in idle if not name.endswith("k.bias")] == []


def turned(x: np.ndarray) -> np.ndarray:
    """The book upside down, column by column."""
    out = np.empty_like(x)
    for level in range(x.shape[-1] // 4):
        ask_price, ask_size, bid_price, bid_size = (x[..., 4 * level + column] for column in range(4))
        for column, values in enumerate((-bid_price, bid_size, -ask_price, ask_size)):
            out[..., 4 * level + column] = values
    return out


@pytest.mark.parametrize("gradients", [True, False])
@pytest.mark.parametrize("outputs", [1, 3])
def test_a_mirrored_model_answers_with_the_mean_of_both_passes(outputs: int, gradients: bool) -> None:
    """Without gradients both passes are one batch; with them, two."""
    config = replace(SMALL, outputs=outputs, mirrored=True)
    model = unsettled(TLOB, config)
    x = torch.randn(3, config.steps, config.features)
    weights = {name: value.double().numpy() for name, value in model.state_dict().items()}
    plain, plain_maps = numpy_tlob.forward(weights, config, x.double().numpy())
    other, _ = numpy_tlob.forward(weights, config, turned(x.double().numpy()))
    with torch.set_grad_enabled(gradients):
        logits, maps = model(x, return_attention=True)
        one, turned_over = model(x), model(upside_down(x))
    assert logits.requires_grad == gradients and list(maps) == model.layer_names
    for found in (logits.detach(), one.detach(), turned_over.detach().flip(-1)):
        np.testing.assert_allclose(found.reshape(plain.shape), (plain + other[..., ::-1]) / 2, atol=1e-5, rtol=0)
    for found, expected in zip(maps.values(), plain_maps, strict=True):
        np.testing.assert_allclose(found.detach(), expected, atol=1e-5, rtol=0)


def test_in_training_a_mirrored_model_makes_one_pass() -> None:
    config = replace(SMALL, dropout=0.0)
    plain, mirrored = unsettled(TLOB, config).train(), unsettled(TLOB, replace(config, mirrored=True)).train()
    x = torch.randn(3, config.steps, config.features)
    assert torch.equal(plain(x), mirrored(x))


def test_a_book_that_cannot_be_turned_is_refused() -> None:
    with pytest.raises(ValueError, match="6 features cannot be turned upside down"):
        TLOBConfig(features=6, mirrored=True)
