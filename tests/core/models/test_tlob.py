"""TLOB against a numpy twin, PyTorch's own layers and the document's counts."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn
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


class ListedLayer(nn.Module):
    """The document's TransformerLayer made of PyTorch's own parts, weights copied from ours."""

    def __init__(self, ours: TLOBLayer, size: int, heads: int) -> None:
        super().__init__()
        inner = size * heads
        self.norm = nn.LayerNorm(size)
        self.q, self.k, self.v = (nn.Linear(size, inner) for _ in range(3))
        self.attention = nn.MultiheadAttention(embed_dim=inner, num_heads=heads, batch_first=True)
        self.w0 = nn.Linear(inner, size)
        self.mlp = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))
        assert ours.qkv is not None
        copies = {
            self.norm: ours.norm, self.q: ours.qkv["q"], self.k: ours.qkv["k"], self.v: ours.qkv["v"], self.w0: ours.w0,
            self.attention.out_proj: ours.attention.out, self.mlp[0]: ours.mlp.fc1, self.mlp[2]: ours.mlp.fc2,
        }  # fmt: skip
        for theirs, mine in copies.items():
            theirs.load_state_dict(mine.state_dict())
        with torch.no_grad():
            projections = (ours.attention.q, ours.attention.k, ours.attention.v)
            self.attention.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
            self.attention.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y, weights = self.attention(self.q(x), self.k(x), self.v(x), average_attn_weights=False, need_weights=True)
        return self.mlp(self.norm(self.w0(y) + x)) + x, weights


@pytest.mark.parametrize(("size", "heads", "length"), [(40, 1, 128), (128, 1, 40), (16, 8, 10)])
def test_double_layer_equals_one_of_torch_parts(size: int, heads: int, length: int) -> None:
    torch.manual_seed(6)
    ours = TLOBLayer(size, heads, qkv="double", dropout=0.1).eval()
    nn.init.normal_(ours.norm.weight)
    nn.init.normal_(ours.norm.bias)
    twin = ListedLayer(ours, size, heads).eval()
    assert parameters(ours) == parameters(twin)
    x = torch.randn(2, length, size)
    (y, weights), (expected, expected_weights) = ours(x, return_attention=True), twin(x)
    torch.testing.assert_close(y, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(weights, expected_weights, atol=1e-5, rtol=0)
    torch.testing.assert_close(ours(x)[0], expected, atol=1e-5, rtol=0)


def test_parameter_counts_of_the_document() -> None:
    counts = {BTC: 1_173_611, replace(BTC, positions="sinusoidal"): 1_168_491, replace(BTC, qkv="single"): 883_179}
    for config, expected in counts.items():
        model = TLOB(config)
        assert parameters(model) == count(model) == expected
    lean = TLOB(replace(BTC, qkv="single"))
    # section 6.1, a row at a time, its own sums put right: 512 too many in the temporal MLP, 8 in the classifier
    assert parameters(lean.bin_norm) == 160
    assert parameters(lean.embedding) == 1_640
    assert parameters(lean.positions) == 5_120
    assert [parameters(layer) for layer in lean.layers] == [19_640, 198_528 - 512] * 4
    assert parameters(lean.classifiers) == 5_643 - 8 == 5_635


def test_each_parts_share_of_the_parameters() -> None:
    """Section 6.2, with the sums of 6.1 put right."""
    found = by_part(TLOB(replace(BTC, qkv="single", pooling="learned")))
    pairs = {f"layers.{index}": 198_016 if index % 2 else 19_640 for index in range(8)}
    assert found == {
        "bin_norm": 160, "embedding": 1_640, "positions": 5_120, **pairs, "classifiers.0": 5_635, "pool_logits": 128,
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


@pytest.mark.parametrize("qkv", ["double", "single"])
def test_attention_rows_are_distributions_over_the_named_axes(qkv: str) -> None:
    model = unsettled(TLOB, replace(BTC, qkv=qkv, heads=2, pairs=1))  # type: ignore[arg-type]
    _, maps = model(torch.randn(3, 128, 40) * 5, return_attention=True)
    assert {name: tuple(weights.shape) for name, weights in maps.items()} == {
        "time-to-time 1": (3, 2, 128, 128), "feature-to-feature 1": (3, 2, 40, 40),
    }  # fmt: skip
    for weights in maps.values():
        assert weights.min() >= 0
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))


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


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_mirrored_model_answers_with_the_mean_of_both_passes(outputs: int) -> None:
    config = replace(SMALL, outputs=outputs, mirrored=True)
    model = unsettled(TLOB, config)
    x = torch.randn(3, config.steps, config.features)
    weights = {name: value.double().numpy() for name, value in model.state_dict().items()}
    plain, plain_maps = numpy_tlob.forward(weights, config, x.double().numpy())
    other, _ = numpy_tlob.forward(weights, config, turned(x.double().numpy()))
    with torch.no_grad():
        logits, maps = model(x, return_attention=True)
        np.testing.assert_allclose(logits.reshape(plain.shape), (plain + other[..., ::-1]) / 2, atol=1e-5, rtol=0)
        for found, expected in zip(maps.values(), plain_maps, strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)
        np.testing.assert_allclose(model(upside_down(x)), logits.flip(-1), atol=1e-5, rtol=0)


def test_in_training_a_mirrored_model_makes_one_pass() -> None:
    config = replace(SMALL, dropout=0.0)
    plain, mirrored = unsettled(TLOB, config).train(), unsettled(TLOB, replace(config, mirrored=True)).train()
    x = torch.randn(3, config.steps, config.features)
    assert torch.equal(plain(x), mirrored(x))


def test_a_book_that_cannot_be_turned_is_refused() -> None:
    with pytest.raises(ValueError, match="6 features cannot be turned upside down"):
        TLOBConfig(features=6, mirrored=True)


def test_maps_of_a_mirrored_model_are_the_same_with_and_without_gradients() -> None:
    """Without gradients both passes are one batch; with them, two."""
    torch.manual_seed(0)
    model = TLOB(TLOBConfig(steps=6, features=8, width=4, pairs=2, mirrored=True)).eval()
    x = torch.randn(3, 6, 8)
    logits, maps = model(x, return_attention=True)
    assert logits.requires_grad
    with torch.inference_mode():
        alone, of_batch = model(x, return_attention=True)
        torch.testing.assert_close(model(x), logits)
    torch.testing.assert_close(alone, logits)
    assert of_batch.keys() == maps.keys()
    for name, weights in maps.items():
        torch.testing.assert_close(of_batch[name], weights)
