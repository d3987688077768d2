"""Backpropagation written out: the gradients of every part of a Transformer layer, without autograd.

Sources: vit-report sections 2.2 to 2.6 (what each `backward` does) and 4 (listings 4 and 5), D14. Weights are used as in
the report, y = x W + b with W (in, out): the transpose of `nn.Linear.weight`. `grad` is always the loss's gradient by the
function's output; the functions return the gradients by the inputs and the weights.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from core.lecture import activations
from core.lecture.norms import EPSILON, layer_norm, moments


def softmax_gradient(weights: Tensor, grad: Tensor) -> Tensor:
    """dS_ij = A_ij (dA_ij - sum_k dA_ik A_ik), a row at a time (vit-report section 4, listing 5).

    Args:
        weights: softmax's output (..., n). grad: by that output.
    """
    return weights * (grad - (grad * weights).sum(dim=-1, keepdim=True))


def linear_gradient(x: Tensor, weight: Tensor, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """dx = dy W^T, dW = x^T dy, db = column sums of dy, for y = x W + b (vit-report section 2.3).

    Args:
        x: (rows, in). weight: (in, out). grad: (rows, out).
    """
    return grad @ weight.T, x.T @ grad, grad.sum(dim=0)


def layer_norm_gradient(x: Tensor, gamma: Tensor, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """dx = (g - mean(g) - xhat mean(g xhat)) / sqrt(var + eps), g = gamma dy; dgamma = sum(dy * xhat); dbeta = sum(dy).

    The first is the chain rule through mean and variance (vit-report section 2.4), rows being (rows, width).
    """
    mean, variance = moments(x, (-1,))
    root = torch.sqrt(variance + EPSILON)
    standard, inner = (x - mean) / root, gamma * grad
    level = inner.mean(dim=-1, keepdim=True)
    slope = (inner * standard).mean(dim=-1, keepdim=True)
    return (inner - level - standard * slope) / root, (grad * standard).sum(dim=0), grad.sum(dim=0)


@dataclass(frozen=True, kw_only=True)
class AttentionGradients:
    """Of softmax(q k^T / sqrt(d_k)) v, the weights and scores on the way included."""

    q: Tensor
    k: Tensor
    v: Tensor
    weights: Tensor
    scores: Tensor


def attention_weights(q: Tensor, k: Tensor, mask: Tensor | None = None) -> Tensor:
    """softmax(q k^T / sqrt(d_k)), forbidden scores at -inf (D20)."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return activations.softmax(scores if mask is None else scores.masked_fill(~mask, -torch.inf))


def attention_gradient(q: Tensor, k: Tensor, v: Tensor, grad: Tensor, *, mask: Tensor | None = None) -> AttentionGradients:
    """dV = A^T dO, dA = dO V^T, dS by `softmax_gradient`, dQ = dS K / sqrt(d_k), dK = dS^T Q / sqrt(d_k).

    Source: vit-report section 4, listings 4 and 5. A forbidden score has weight 0 and so gradient 0.

    Args:
        q: (..., queries, d_k). k: (..., keys, d_k). v: (..., keys, d_v). grad: (..., queries, d_v).
    """
    weights = attention_weights(q, k, mask)
    by_weights = grad @ v.transpose(-2, -1)
    by_scores = softmax_gradient(weights, by_weights)
    scale = math.sqrt(q.shape[-1])
    return AttentionGradients(
        q=by_scores @ k / scale,
        k=by_scores.transpose(-2, -1) @ q / scale,
        v=weights.transpose(-2, -1) @ grad,
        weights=by_weights,
        scores=by_scores,
    )


Weights = Mapping[str, Tensor]
"""Matrices and biases by name: w_q (width, width), b_q (width,), and so on for k, v and o."""


@dataclass(frozen=True, kw_only=True)
class MultiHeadGradients:
    """Gradients by the three inputs and by all eight weights under their names; `heads` are those inside each head."""

    query: Tensor
    key: Tensor
    value: Tensor
    weights: dict[str, Tensor]
    heads: AttentionGradients


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(n, width) -> (heads, n, width / heads)."""
    return x.unflatten(-1, (heads, -1)).transpose(0, 1)


def join_heads(x: Tensor) -> Tensor:
    """(heads, n, d_k) -> (n, heads * d_k)."""
    return x.transpose(0, 1).flatten(1)


def multi_head(query: Tensor, key: Tensor, value: Tensor, weights: Weights, heads: int, *, mask: Tensor | None = None) -> Tensor:
    """Concat(head_1 ... head_h) W_O + b_O of (n, width) inputs (vit-report section 2.2, iiga-equations section 5.7)."""
    q, k, v = _projected(query, key, value, weights, heads)
    return join_heads(attention_weights(q, k, mask) @ v) @ weights["w_o"] + weights["b_o"]


def _projected(query: Tensor, key: Tensor, value: Tensor, weights: Weights, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    q, k, v = (
        split_heads(x @ weights[f"w_{name}"] + weights[f"b_{name}"], heads)
        for name, x in (("q", query), ("k", key), ("v", value))
    )
    return q, k, v


def multi_head_gradient(
    query: Tensor, key: Tensor, value: Tensor, weights: Weights, heads: int, grad: Tensor, *, mask: Tensor | None = None
) -> MultiHeadGradients:
    """From the output through W_O to each head, through its attention, and through W_Q, W_K and W_V to the inputs.

    Source: vit-report sections 2.2 and 4. For self-attention the gradient by the one input is the sum of the three.

    Args:
        query: (queries, width). key, value: (keys, width). grad: (queries, width).
    """
    q, k, v = _projected(query, key, value, weights, heads)
    by_joined, by_w_o, by_b_o = linear_gradient(join_heads(attention_weights(q, k, mask) @ v), weights["w_o"], grad)
    inner = attention_gradient(q, k, v, split_heads(by_joined, heads), mask=mask)
    by_weight, inputs = {"w_o": by_w_o, "b_o": by_b_o}, {}
    for name, x, by in (("q", query, inner.q), ("k", key, inner.k), ("v", value, inner.v)):
        inputs[name], by_weight[f"w_{name}"], by_weight[f"b_{name}"] = linear_gradient(x, weights[f"w_{name}"], join_heads(by))
    return MultiHeadGradients(query=inputs["q"], key=inputs["k"], value=inputs["v"], weights=by_weight, heads=inner)


def feed_forward(x: Tensor, weights: Weights) -> Tensor:
    """GELU(x W_1 + b_1) W_2 + b_2 with the tanh GELU (vit-report section 2.3)."""
    return activations.gelu_tanh(x @ weights["w_1"] + weights["b_1"]) @ weights["w_2"] + weights["b_2"]


def feed_forward_gradient(
    x: Tensor, weights: Weights, grad: Tensor, *, report_form: bool = False
) -> tuple[Tensor, dict[str, Tensor]]:
    """dW_2 = GELU(Z_1)^T dZ_2, db_2 = sum dZ_2, dZ_1 = dZ_2 W_2^T * GELU'(Z_1), dW_1 = X^T dZ_1, db_1, dX = dZ_1 W_1^T.

    Source: vit-report section 2.3.

    Args:
        report_form: take Phi(z) + z phi(z) for GELU', as the report does; it belongs to the exact GELU, so that the gradient of
            the tanh form is off by up to 0.1 % of its size. False takes the tanh form's own derivative.

    Returns:
        dX, and the gradients by the weights under their names w_1, b_1, w_2, b_2.
    """
    z = x @ weights["w_1"] + weights["b_1"]
    by_hidden, by_w_2, by_b_2 = linear_gradient(activations.gelu_tanh(z), weights["w_2"], grad)
    slope = activations.gelu_derivative(z) if report_form else activations.gelu_tanh_derivative(z)
    by_x, by_w_1, by_b_1 = linear_gradient(x, weights["w_1"], by_hidden * slope)
    return by_x, {"w_1": by_w_1, "b_1": by_b_1, "w_2": by_w_2, "b_2": by_b_2}


def cross_entropy_gradient(logits: Tensor, classes: Tensor, *, smoothing: float = 0.0) -> Tensor:
    """(softmax(z) - y) / n for the mean cross-entropy of n rows; y is one-hot, smoothed (vit-report section 1.8).

    Args:
        logits: (rows, classes). classes: (rows,) the right one's number.
    """
    wanted = torch.full_like(logits, smoothing / logits.shape[-1])
    wanted[torch.arange(len(logits)), classes] += 1 - smoothing
    return (activations.softmax(logits) - wanted) / len(logits)


def embedding_gradient(symbols: Tensor, vocabulary: int, grad: Tensor) -> Tensor:
    """(vocabulary, width): each symbol's row is the sum of the gradients at its places (vit-report section 2.9).

    Positions are added, so the gradient passes through them unchanged (section 2.1).
    """
    gradient = grad.new_zeros(vocabulary, grad.shape[-1])
    return gradient.index_add(0, symbols, grad)


def encoder_layer_gradient(
    x: Tensor, weights: Weights, heads: int, grad: Tensor, *, mask: Tensor | None = None
) -> tuple[Tensor, dict[str, Tensor]]:
    """Back from N2 through the FFN's residual and norm, then through attention's (vit-report section 2.5).

    Args:
        x: (n, width). weights: those of attention and FFN, and gamma_1, beta_1, gamma_2, beta_2. grad: by N2.

    Returns:
        The gradient by x, and by every weight under its name.
    """
    summed = x + multi_head(x, x, x, weights, heads, mask=mask)
    middle = _normed(summed, weights, 1)
    by_sum_2, gamma_2, beta_2 = layer_norm_gradient(middle + feed_forward(middle, weights), weights["gamma_2"], grad)
    through, by_weight = feed_forward_gradient(middle, weights, by_sum_2)
    by_sum_1, gamma_1, beta_1 = layer_norm_gradient(summed, weights["gamma_1"], by_sum_2 + through)
    attention = multi_head_gradient(x, x, x, weights, heads, by_sum_1, mask=mask)
    by_weight |= attention.weights
    by_weight |= {"gamma_1": gamma_1, "beta_1": beta_1, "gamma_2": gamma_2, "beta_2": beta_2}
    return by_sum_1 + attention.query + attention.key + attention.value, by_weight


def decoder_layer_gradient(
    y: Tensor, memory: Tensor, own: Weights, cross: Weights, weights: Weights, heads: int, grad: Tensor
) -> tuple[Tensor, Tensor]:
    """Back from N3 through FFN, cross-attention and causal self-attention (vit-report section 2.6).

    Args:
        y: (T, width). memory: (S, width). own, cross: weights of the two attentions.
        weights: those of the FFN, and gamma_1 ... beta_3. grad: by N3.

    Returns:
        The gradients by y and by the memory, which the encoder goes on with.
    """
    causal = torch.ones(len(y), len(y), dtype=torch.bool).tril()
    sum1 = y + multi_head(y, y, y, own, heads, mask=causal)
    n1 = _normed(sum1, weights, 1)
    sum2 = n1 + multi_head(n1, memory, memory, cross, heads)
    n2 = _normed(sum2, weights, 2)
    by_sum3 = layer_norm_gradient(n2 + feed_forward(n2, weights), weights["gamma_3"], grad)[0]
    by_n2 = by_sum3 + feed_forward_gradient(n2, weights, by_sum3)[0]
    by_sum2 = layer_norm_gradient(sum2, weights["gamma_2"], by_n2)[0]
    read = multi_head_gradient(n1, memory, memory, cross, heads, by_sum2)
    by_sum1 = layer_norm_gradient(sum1, weights["gamma_1"], by_sum2 + read.query)[0]
    seen = multi_head_gradient(y, y, y, own, heads, by_sum1, mask=causal)
    return by_sum1 + seen.query + seen.key + seen.value, read.key + read.value


def _normed(x: Tensor, weights: Weights, number: int) -> Tensor:
    return layer_norm(x, weights[f"gamma_{number}"], weights[f"beta_{number}"])


def addition_gradient(grad: Tensor, *addends: Tensor) -> tuple[Tensor, ...]:
    """Gradients of a + b + ...: the upstream gradient, unchanged, summed over axes along which an addend was repeated.

    Args:
        grad: gradient by the sum. addends: before broadcasting.
    """
    gradients = []
    for addend in addends:
        extra = grad.dim() - addend.dim()
        repeated = [axis + extra for axis, size in enumerate(addend.shape) if size == 1 and grad.shape[axis + extra] != 1]
        axes = [*range(extra), *repeated]
        gradients.append((grad.sum(dim=axes, keepdim=True) if axes else grad).reshape(addend.shape))
    return tuple(gradients)
