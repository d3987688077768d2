"""Small examples of every written gradient beside autograd's, for the backpropagation page."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from core.lecture import activations
from core.lecture import gradients as g

Part = Literal["softmax", "linear", "layer_norm", "gelu", "attention", "multi_head", "ffn", "layer"]
SMOOTHING: Final = 0.1
"""Share of a label that is spread over all classes, where the scores are taken as logits."""

Array = NDArray[np.float64]
_Draw = Callable[..., Tensor]


@dataclass(frozen=True, kw_only=True)
class Example:
    """One part's gradients; every array has two axes.

    Attributes:
        inputs: name -> array; "upstream" is the gradient by the output. output: of the forward pass.
        written: name -> gradient by the formulas. autograd: the same by PyTorch.
        inner: intermediate results of the formulas, by name.
    """

    inputs: dict[str, Array]
    output: Array
    written: dict[str, Array]
    autograd: dict[str, Array]
    inner: dict[str, Array]

    def gap(self, name: str) -> float:
        """Largest difference between written and autograd."""
        return float(np.abs(self.written[name] - self.autograd[name]).max())


def example(part: Part, *, rows: int = 4, width: int = 4, seed: int = 0, first: float = 0.5, causal: bool = False) -> Example:
    """Gradients for random inputs with `first` as the top left entry.

    Args:
        rows: tokens. width: channels, even, for two heads.
        causal: mask later keys, in the parts with attention.
    """
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int, scale: float = 1.0) -> Tensor:  # two decimals, so that a page shows the numbers exactly
        return (torch.randn(*shape, generator=generator, dtype=torch.float64) * scale).mul(100).round().div(100)

    x = draw(rows, width)
    x[0, 0] = first
    upstream = draw(rows, width)
    return _MAKERS[part](draw, x, upstream, torch.ones(rows, rows, dtype=torch.bool).tril() if causal else None)


def _finish(
    inputs: dict[str, Tensor],
    upstream: Tensor,
    forward: Callable[[dict[str, Tensor]], Tensor],
    written: dict[str, Tensor],
    inner: dict[str, Tensor] | None = None,
) -> Example:
    """Run autograd over the same forward pass and pair its gradients with the written ones."""
    leaves = {name: value.clone().requires_grad_() for name, value in inputs.items()}
    y = forward(leaves)
    checked = dict(zip(leaves, torch.autograd.grad(y, list(leaves.values()), upstream), strict=True))
    return Example(
        inputs=_arrays(inputs) | _arrays({"upstream": upstream}),
        output=_arrays({"y": y.detach()})["y"],
        written=_arrays({name: written[name] for name in checked}),
        autograd=_arrays(checked),
        inner=_arrays(inner or {}),
    )


def _arrays(tensors: dict[str, Tensor]) -> dict[str, Array]:
    return {name: (one[None] if one.dim() == 1 else one.flatten(0, -2)).numpy() for name, one in tensors.items()}


def _softmax(_draw: _Draw, x: Tensor, upstream: Tensor, mask: Tensor | None) -> Example:
    hidden = torch.zeros_like(x)
    if mask is not None:
        hidden.masked_fill_(~torch.ones_like(x, dtype=torch.bool).tril(), -torch.inf)
    weights = activations.softmax(x + hidden)
    by_logits = g.cross_entropy_gradient(x, torch.zeros(len(x), dtype=torch.long), smoothing=SMOOTHING)
    return _finish(
        {"S": x},
        upstream,
        lambda t: (t["S"] + hidden).softmax(dim=-1),
        {"S": g.softmax_gradient(weights, upstream)},
        {"A": weights, "by_logits": by_logits},
    )


def _linear(draw: _Draw, x: Tensor, upstream: Tensor, _mask: Tensor | None) -> Example:
    w, b = draw(x.shape[1], upstream.shape[1]), draw(upstream.shape[1])
    by_x, by_w, by_b = g.linear_gradient(x, w, upstream)
    return _finish(
        {"x": x, "W": w, "b": b},
        upstream,
        lambda t: t["x"] @ t["W"] + t["b"],
        {"x": by_x, "W": by_w, "b": by_b},
    )


def _layer_norm(draw: _Draw, x: Tensor, upstream: Tensor, _mask: Tensor | None) -> Example:
    gamma, beta = 1 + draw(x.shape[1], scale=0.3), draw(x.shape[1], scale=0.3)
    by_x, by_gamma, by_beta = g.layer_norm_gradient(x, gamma, upstream)
    return _finish(
        {"x": x, "gamma": gamma, "beta": beta},
        upstream,
        lambda t: F.layer_norm(t["x"], (x.shape[1],), t["gamma"], t["beta"]),
        {"x": by_x, "gamma": by_gamma, "beta": by_beta},
        {"xhat": F.layer_norm(x, (x.shape[1],))},
    )


def _gelu(_draw: _Draw, x: Tensor, upstream: Tensor, _mask: Tensor | None) -> Example:
    true, report = activations.gelu_tanh_derivative(x), activations.gelu_derivative(x)
    return _finish(
        {"x": x},
        upstream,
        lambda t: F.gelu(t["x"], approximate="tanh"),
        {"x": upstream * true},
        {"derivative": true, "report": report, "report_gradient": upstream * report},
    )


def _attention(draw: _Draw, x: Tensor, upstream: Tensor, mask: Tensor | None) -> Example:
    k, v = draw(*x.shape), draw(*x.shape)
    by_hand = g.attention_gradient(x, k, v, upstream, mask=mask)
    return _finish(
        {"Q": x, "K": k, "V": v},
        upstream,
        lambda t: F.scaled_dot_product_attention(t["Q"], t["K"], t["V"], attn_mask=mask),
        {"Q": by_hand.q, "K": by_hand.k, "V": by_hand.v},
        {"A": g.attention_weights(x, k, mask), "dA": by_hand.weights, "dS": by_hand.scores},
    )


def _attention_weights(draw: _Draw, width: int) -> dict[str, Tensor]:
    matrices = {f"w_{name}": draw(width, width, scale=0.5) for name in "qkvo"}
    return matrices | {f"b_{name}": draw(width, scale=0.2) for name in "qkvo"}


def _fused(x: Tensor, t: dict[str, Tensor], mask: Tensor | None) -> Tensor:
    """PyTorch's multi-head self-attention of two heads, from separate matrices."""
    width = x.shape[1]
    y, _weights = F.multi_head_attention_forward(
        x[:, None], x[:, None], x[:, None], width, 2,
        torch.cat([t[f"w_{name}"].T for name in "qkv"]), torch.cat([t[f"b_{name}"] for name in "qkv"]),
        None, None, False, 0.0, t["w_o"].T, t["b_o"], attn_mask=None if mask is None else ~mask, need_weights=False,
    )  # fmt: skip
    return y[:, 0]


def _multi_head(draw: _Draw, x: Tensor, upstream: Tensor, mask: Tensor | None) -> Example:
    weights = _attention_weights(draw, x.shape[1])
    by_hand = g.multi_head_gradient(x, x, x, weights, 2, upstream, mask=mask)
    written = {"x": by_hand.query + by_hand.key + by_hand.value, **by_hand.weights}
    inner = {"dA": by_hand.heads.weights, "dS": by_hand.heads.scores}
    inner |= {"dx_Q": by_hand.query, "dx_K": by_hand.key, "dx_V": by_hand.value}
    return _finish({"x": x, **weights}, upstream, lambda t: _fused(t["x"], t, mask), written, inner)


def _ffn_weights(draw: _Draw, width: int) -> dict[str, Tensor]:
    hidden = 2 * width
    return {
        "w_1": draw(width, hidden, scale=0.7),
        "b_1": draw(hidden, scale=0.2),
        "w_2": draw(hidden, width, scale=0.5),
        "b_2": draw(width, scale=0.2),
    }


def _ffn_torch(x: Tensor, t: dict[str, Tensor]) -> Tensor:
    return F.linear(F.gelu(F.linear(x, t["w_1"].T, t["b_1"]), approximate="tanh"), t["w_2"].T, t["b_2"])


def _ffn(draw: _Draw, x: Tensor, upstream: Tensor, _mask: Tensor | None) -> Example:
    weights = _ffn_weights(draw, x.shape[1])
    by_x, by_hand = g.feed_forward_gradient(x, weights, upstream)
    report, _found = g.feed_forward_gradient(x, weights, upstream, report_form=True)
    inner = {"Z1": x @ weights["w_1"] + weights["b_1"], "report_gradient": report}
    inner["dZ1"] = (upstream @ weights["w_2"].T) * activations.gelu_tanh_derivative(inner["Z1"])
    return _finish({"x": x, **weights}, upstream, lambda t: _ffn_torch(t["x"], t), {"x": by_x, **by_hand}, inner)


def _layer(draw: _Draw, x: Tensor, upstream: Tensor, mask: Tensor | None) -> Example:
    width = x.shape[1]
    weights = _attention_weights(draw, width) | _ffn_weights(draw, width)
    for number in (1, 2):
        weights |= {f"gamma_{number}": 1 + draw(width, scale=0.3), f"beta_{number}": draw(width, scale=0.3)}
    by_x, by_hand = g.encoder_layer_gradient(x, weights, 2, upstream, mask=mask)

    def forward(t: dict[str, Tensor]) -> Tensor:
        n1 = F.layer_norm(t["x"] + _fused(t["x"], t, mask), (width,), t["gamma_1"], t["beta_1"])
        return F.layer_norm(n1 + _ffn_torch(n1, t), (width,), t["gamma_2"], t["beta_2"])

    summed = x + g.multi_head(x, x, x, weights, 2, mask=mask)
    middle = F.layer_norm(summed, (width,), weights["gamma_1"], weights["beta_1"])
    second = g.layer_norm_gradient(middle + g.feed_forward(middle, weights), weights["gamma_2"], upstream)[0]
    past = g.layer_norm_gradient(summed, weights["gamma_1"], second + g.feed_forward_gradient(middle, weights, second)[0])[0]
    return _finish({"x": x, **weights}, upstream, forward, {"x": by_x, **by_hand}, {"dX1": past, "dO": by_x - past})


_MAKERS: Final[dict[Part, Callable[[_Draw, Tensor, Tensor, Tensor | None], Example]]] = {
    "softmax": _softmax,
    "linear": _linear,
    "layer_norm": _layer_norm,
    "gelu": _gelu,
    "attention": _attention,
    "multi_head": _multi_head,
    "ffn": _ffn,
    "layer": _layer,
}


def report_gap(example: Example) -> tuple[float, float]:
    """Largest difference between the report's gradient by x and the true one, and its share of the largest true entry."""
    true = example.autograd["x"]
    gap = float(np.abs(example.inner["report_gradient"] - true).max())
    return gap, gap / (float(np.abs(true).max()) or 1.0)


def softmax_entry(weight: float, upstream: float, total: float) -> float:
    """One entry of `gradients.softmax_gradient`, from the sum over its row."""
    return weight * (upstream - total)


def layer_norm_entry(g: float, level: float, xhat: float, slope: float, root: float) -> float:
    """One entry of `gradients.layer_norm_gradient` by x, from `layer_norm_numbers`."""
    return (g - level - xhat * slope) / root


def layer_norm_numbers(example: Example) -> dict[str, float]:
    """Terms of the gradient by x of the top left entry: g, level (mean of g), xhat, slope (mean of g xhat), root."""
    x, g_row = example.inputs["x"][0], example.inputs["gamma"][0] * example.inputs["upstream"][0]
    xhat = example.inner["xhat"][0]
    return {
        "g": float(g_row[0]),
        "level": float(g_row.mean()),
        "xhat": float(xhat[0]),
        "slope": float((g_row * xhat).mean()),
        "root": float(np.sqrt(x.var() + 1e-5)),
    }
