"""Captured maps beside the weights that PyTorch's own layers return, and beside a softmax written out."""

import threading
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.functional import scaled_dot_product_attention as attention_by_name
from torch.utils.checkpoint import checkpoint

from attention_light import LayerVectors, capture
from core.nn import EncoderLayer


def weights_by_hand(attention: nn.MultiheadAttention, x: Tensor) -> np.ndarray:
    """(heads, n, n) of the first item, from the projections alone."""
    q, k, _ = F.linear(x[0], attention.in_proj_weight, attention.in_proj_bias).chunk(3, dim=-1)
    split = [one.unflatten(-1, (attention.num_heads, -1)).transpose(0, 1) for one in (q, k)]  # (n, width) -> (heads, n, d_k)
    return (split[0] @ split[1].transpose(1, 2) / split[0].shape[-1] ** 0.5).softmax(-1).detach().numpy()


@pytest.fixture(autouse=True)
def _same_numbers() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("training", [False, True])
def test_every_layer_of_torchs_encoder_is_caught_with_its_name_and_weights_before_dropout(training: bool) -> None:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.3)
    model, x = nn.TransformerEncoder(layer, 2).train(training), torch.randn(2, 7, 32)
    torch.manual_seed(1)
    plain = model(x)
    torch.manual_seed(1)
    with torch.no_grad(), capture(model) as layers:
        again = model(x)
    assert [one.name for one in layers] == ["layers.0.self_attn", "layers.1.self_attn"]
    np.testing.assert_allclose(layers[0].weights, weights_by_hand(model.layers[0].self_attn, x), atol=1e-5)
    np.testing.assert_allclose(layers[1].weights.sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(again.numpy(), plain.detach().numpy(), atol=1e-5)


def test_a_callers_own_weights_stay_as_asked() -> None:
    attention, x = nn.MultiheadAttention(16, 2, batch_first=True), torch.randn(1, 5, 16)
    expected = attention(x, x, x)[1]
    with capture(attention) as layers:
        mean = attention(x, x, x)[1]
        none = attention(x, x, x, need_weights=False)[1]
        heads = attention(x, x, x, average_attn_weights=False)[1]
    assert none is None and len(layers) == 3 and layers[0].name == "attention 1"
    torch.testing.assert_close(mean, expected)
    np.testing.assert_allclose(layers[2].weights, heads[0].detach().numpy(), atol=1e-6)


class Fused(nn.Module):
    """Causal attention with fewer heads of keys than of queries, by a name that was imported before any capture."""

    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.Linear(8, 8 + 4 + 4)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.attend(x).split((8, 4, 4), dim=-1)
        q, k, v = (one.unflatten(-1, (-1, 2)).transpose(1, 2) for one in (q, k, v))
        return attention_by_name(q, k, v, is_causal=True, enable_gqa=True)


@pytest.mark.parametrize("item", [0, 2])
def test_fused_attention_of_one_item_is_caught_under_its_mask(item: int) -> None:
    model, x = Fused(), torch.randn(3, 6, 8)
    with capture(model, batch=item) as layers:
        output = model(x)
    weights = torch.from_numpy(layers[0].weights)
    assert weights.shape == (4, 6, 6) and np.triu(layers[0].weights, 1).max() == 0
    v = model.attend(x)[item, :, 12:].unflatten(-1, (-1, 2)).transpose(0, 1).repeat_interleave(2, 0)
    torch.testing.assert_close(weights @ v, output[item], atol=1e-5, rtol=1e-5)


class Written(nn.Module):
    """Attention with a softmax of its own, laid out in one of the ways that models have; `shares` is what it gave."""

    def __init__(self, product: Callable[[Tensor, Tensor], Tensor], heads: int, *, flat: bool = False) -> None:
        super().__init__()
        self.product, self.heads, self.flat = product, heads, flat
        self.drop = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        split = x.unflatten(-1, (self.heads, -1)).transpose(1, 2) if self.heads else x
        q = split.flatten(0, 1) if self.flat else split
        self.shares = F.softmax(q @ q.transpose(-2, -1), dim=-1, dtype=torch.float32)
        return self.product(self.drop(self.shares).to(q.dtype), q)


PRODUCTS: list[Callable[[Tensor, Tensor], Tensor]] = [
    torch.matmul,
    lambda a, v: a @ v,
    lambda a, v: torch.einsum("...qk,...kd->...qd", a, v),
]


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize(("heads", "flat"), [(0, False), (4, False), (4, True)])
def test_a_softmax_that_multiplies_values_is_caught_before_dropout_whatever_its_axes(
    product: Callable[[Tensor, Tensor], Tensor], heads: int, flat: bool
) -> None:
    """One head without an axis, heads on an axis, and heads that share an axis with the batch."""
    model, x = nn.Sequential(Written(product, heads, flat=flat)), torch.randn(3, 5, 8)
    with capture(model, batch=1) as layers:
        model(x)
    shares = model[0].shares.detach()
    want = shares[4:8] if flat else shares[1] if heads else shares[1:2]
    assert [one.name for one in layers] == ["0"]
    np.testing.assert_array_equal(layers[0].weights, want.numpy())


def test_a_softmax_over_classes_is_no_attention_and_that_nothing_was_caught_is_said() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Softmax(dim=-1))
    with (
        pytest.warns(RuntimeWarning, match="no attention was caught.*set_attn_implementation.*set_fused_attn"),
        capture(model) as layers,
    ):
        model(torch.ones(2, 4))
    assert layers == []
    with pytest.warns(RuntimeWarning, match="did not run within the block"), capture(model):
        pass


def test_our_own_layers_give_the_same_maps_as_they_return() -> None:
    layer, x = EncoderLayer(16, 4, 32).eval(), torch.randn(1, 9, 16)
    with torch.no_grad(), capture(layer) as layers:
        layer(x)
    np.testing.assert_allclose(layers[0].weights, layer(x, return_attention=True)[1][0].detach().numpy(), atol=1e-6)


class SelfAttention(nn.MultiheadAttention):
    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(x, x, x, need_weights=False)[0]


def test_a_subclass_with_a_forward_of_its_own_runs_as_it_does_and_nested_captures_see_the_same() -> None:
    model, x = SelfAttention(16, 4, batch_first=True), torch.randn(2, 6, 16)
    plain = model(x)
    with capture(model) as outer, capture(model) as inner:
        torch.testing.assert_close(model(x), plain)
    assert [one.weights.shape for one in (*outer, *inner)] == [(4, 6, 6)] * 2
    np.testing.assert_allclose(inner[0].weights, weights_by_hand(model, x), atol=1e-5)


def test_each_thread_has_its_own_maps_and_torch_is_as_before() -> None:
    before, caught = F.scaled_dot_product_attention, {}
    both = threading.Barrier(2)

    def work(count: int) -> None:
        model = nn.Sequential(Fused())
        with capture(model) as layers:
            both.wait()
            model(torch.randn(1, count, 8))
            both.wait()
        caught[count] = [one.weights.shape for one in layers]

    threads = [threading.Thread(target=work, args=(count,)) for count in (3, 5)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert caught == {3: [(4, 3, 3)], 5: [(4, 5, 5)]} and F.scaled_dot_product_attention is before


class Fails(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.fused = nn.Linear(2, 2), Fused()

    def forward(self, x: Tensor) -> Tensor:
        with pytest.raises(RuntimeError):
            self.inner(x)
        return self.fused(x)


def test_names_are_right_after_an_exception_and_unique_over_steps() -> None:
    model = Fails()
    with capture(model) as layers:
        for count in (3, 4):
            model(torch.randn(1, count, 8))
    assert [(one.name, one.step) for one in layers] == [("fused", 1), ("fused, step 2", 2)]
    with pytest.raises(KeyError), capture(model):
        raise KeyError
    assert not model.fused._forward_hooks and not model.fused._forward_pre_hooks


class Checkpointed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = SelfAttention(16, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return checkpoint(self.attention, x, use_reentrant=False)


def test_what_a_checkpoint_computes_again_is_kept_once() -> None:
    model = Checkpointed()
    with capture(model) as layers:
        model(torch.randn(1, 6, 16)).sum().backward()
    assert [one.name for one in layers] == ["attention"]


def test_an_item_that_is_not_there_and_a_compiled_model_are_refused() -> None:
    model = nn.Sequential(Fused())
    with pytest.raises(ValueError, match="the batch has 2 items: batch=2"), capture(model, batch=2):
        model(torch.randn(2, 3, 8))
    with pytest.raises(ValueError, match="compiled"), capture(torch.compile(model)):
        pass


@pytest.mark.parametrize("wanted", [["second"], [1]])
def test_layers_and_heads_can_be_chosen(wanted: list[str | int]) -> None:
    model = nn.ModuleDict({"first": Fused(), "second": Fused()})
    with capture(model, layers=wanted, heads=[1, 3]) as layers:
        for one in model.values():
            one(torch.randn(1, 4, 8))
    assert [(one.name, one.shape) for one in layers] == [("second", (2, 4, 4))]


@pytest.mark.parametrize("masked", [False, True])
def test_many_tokens_are_kept_as_queries_and_keys(masked: bool) -> None:
    attention, x = nn.MultiheadAttention(24, 3, batch_first=True), torch.randn(2, 410, 24)
    mask = nn.Transformer.generate_square_subsequent_mask(410) if masked else None
    with torch.no_grad(), capture(attention, batch=1) as layers:
        attention(x, x, x, attn_mask=mask, is_causal=masked, need_weights=False)
    want = attention(x, x, x, attn_mask=mask, average_attn_weights=False)[1][1].detach().numpy()
    assert isinstance(layers[0], LayerVectors) and layers[0].queries.shape == (3, 410, 8)
    np.testing.assert_allclose(layers[0].weights, want, atol=1e-5)
