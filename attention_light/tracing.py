"""Capture of the attention maps of a torch model while it runs.

Seen, wherever a model has it from: `scaled_dot_product_attention`, `nn.MultiheadAttention` and its subclasses, and a softmax over
the last axis whose result multiplies values. Kept is what the softmax gave, before dropout, of one item of the batch. The mode
that sees them belongs to the thread that enters it; nothing of torch is replaced, and what the model returns stays as it is.
"""

from __future__ import annotations

import inspect
import math
import threading
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from attention_light.layers import Layer, LayerMaps, LayerVectors

LARGE: Final = 400
"""Queries and keys from which on a layer is kept as its vectors, which are fewer numbers than its maps."""
NOTHING: Final = (
    "no attention was caught. Seen are scaled_dot_product_attention, nn.MultiheadAttention, and a softmax over the last axis "
    "whose result multiplies values; a kernel of its own is not seen. It is turned off in transformers by "
    "model.set_attn_implementation('sdpa'), in timm by timm.layers.set_fused_attn(False) before the model is made."
)
_SOFTMAX: Final = frozenset({"softmax"})
_PRODUCT: Final = frozenset({"matmul", "__matmul__", "bmm", "einsum"})
_LAYOUTS: Final = {"contiguous", "clone", "detach", "view", "reshape", "flatten", "unflatten", "expand", "squeeze", "unsqueeze"}
_SAME_SHARES: Final = _LAYOUTS | {
    *("dropout", "dropout_", "masked_fill", "masked_fill_", "nan_to_num"),
    *("to", "type", "type_as", "float", "half", "bfloat16", "double"),
}
"""Functions after which a softmax's result is still the same map: dropped out, of another type, laid out anew."""
_MULTI_HEAD: Final = inspect.signature(F.multi_head_attention_forward)


@contextmanager
def capture(
    model: nn.Module, batch: int = 0, *, layers: Sequence[str | int] | None = None, heads: Sequence[int] | None = None
) -> Iterator[list[Layer]]:
    """The maps of every attention that runs within the block, in the order of the calls, each (heads, queries, keys).

        with capture(model) as layers:
            model(x)

    A layer has the name of the module that computed it. One that computes again within the block, as in each step of
    `generate()`, adds another with the step in its name. Windows that a model cuts an item into are layers each. From `LARGE`
    tokens on a layer is a `LayerVectors`, whose `weights` are computed when they are asked for.

    Args:
        batch: the item that is kept, from 0.
        layers: names of modules, or numbers in the order of the calls from 0, that are kept; all where left out.
        heads: numbers from 0 of those that are kept; all where left out.

    Raises:
        ValueError: before the block for a compiled model, after it for an item that the batch does not have.

    Warns:
        RuntimeWarning: where nothing was caught, with what was looked for.
    """
    if any(type(one).__name__ == "OptimizedModule" or getattr(one, "_compiled_call_impl", None) for one in model.modules()):
        raise ValueError("the model is compiled, and nothing of what runs in it is seen: capture the model that it was made of")
    kept = _Kept(batch, layers, heads)
    handles = [one for name, module in model.named_modules() for one in kept.follow(module, name)]
    try:
        with _Watch(kept):
            yield kept.layers
    finally:
        for handle in handles:
            handle.remove()
    if kept.fault:
        raise ValueError(kept.fault)
    if not kept.layers:
        ran = "" if kept.calls else "the model did not run within the block, and "
        warnings.warn(ran + (kept.unread or NOTHING), RuntimeWarning, stacklevel=3)


class _Kept:
    """Layers that are kept, and the module that runs."""

    def __init__(self, batch: int, wanted: Sequence[str | int] | None, heads: Sequence[int] | None) -> None:
        self.layers: list[Layer] = []
        self.batch, self.wanted, self.heads = batch, wanted, heads
        self.running: list[tuple[str, int]] = []  # names of the modules that run, and the items that each was given
        self.calls = 0
        self.fault = self.unread = ""
        self.steps: Counter[str] = Counter()
        self.thread = threading.get_ident()

    def follow(self, module: nn.Module, name: str) -> list[Any]:
        """Hooks that keep the names of the modules that run in this thread."""

        def enter(_module: nn.Module, given: tuple[Any, ...], options: dict[str, Any]) -> None:
            if threading.get_ident() == self.thread:
                items = [one.shape[0] for one in (*given, *options.values()) if isinstance(one, Tensor) and one.ndim > 1]
                self.running.append((name, max(items, default=0)))
                self.calls += 1

        def leave(*_: Any) -> None:
            if threading.get_ident() == self.thread:
                while self.running and self.running.pop()[0] != name:  # above it stay those that an exception ended
                    pass

        return [module.register_forward_pre_hook(enter, with_kwargs=True), module.register_forward_hook(leave, always_call=True)]

    def items(self, lead: torch.Size) -> tuple[int, int, int]:
        """Items, windows an item and heads of maps with these axes before their queries.

        Where there is one axis alone it is the batch if it is as long as what the outermost module was given, and a multiple of
        that holds the heads of each item one after the other.
        """
        given = next((count for _, count in self.running if count), 0)
        if len(lead) < 2:
            count = math.prod(lead)
            return (given, 1, count // given) if lead and given and count % given == 0 else (1, 1, count)
        count = math.prod(lead[:-1])
        windows = count // given if given and count % given == 0 else 1
        return count // windows, windows, lead[-1]

    def check_item(self, items: int) -> None:
        """Raise IndexError where the batch has no such item."""
        if not 0 <= self.batch < items:
            raise IndexError(f"the batch has {items} items: batch={self.batch} is none of them, which are counted from 0")

    def one_item(self, given: Tensor, lead: torch.Size) -> Tensor:
        """The kept item of what has these axes before its last two: (windows, heads, rows, columns)."""
        items, windows, heads = self.items(lead)
        self.check_item(items)
        whole = given.expand(*lead, *given.shape[-2:])
        if len(lead) < 2:
            return whole.reshape(items, 1, heads, *given.shape[-2:])[self.batch]
        return whole.flatten(0, -4)[self.batch * windows : (self.batch + 1) * windows]

    def record(self, maps: Callable[[], list[Layer] | None]) -> None:
        """Keep what `maps` makes; an error of ours never leaves through the model that runs."""
        try:
            with torch.no_grad(), torch._C.DisableTorchFunction():
                made = maps() or []
        except IndexError as error:
            self.fault = str(error)
        except Exception as error:
            self.unread = f"an attention was seen and could not be read: {error}"
        else:
            self.layers += made

    def named(self, windows: int) -> list[tuple[str, int]]:
        """Name and step of the layer that runs, or of each of its windows; none where it is not wanted."""
        module = self.running[-1][0] if self.running else ""
        base = module or f"attention {len(self.layers) + 1}"
        self.steps[base] += 1
        number = list(self.steps).index(base)
        if self.wanted is not None and number not in self.wanted and module not in self.wanted:
            return []
        step = self.steps[base]
        name = base if step == 1 else f"{base}, step {step}"
        return [(name if windows == 1 else f"{name}, window {i + 1}", step) for i in range(windows)]

    def add_weights(self, weights: Tensor) -> list[Layer]:
        """Layers of weights (windows, heads, queries, keys)."""
        numbers = weights.detach().float().nan_to_num().cpu().numpy()  # zeros for a query that may look at nothing
        if weights.dtype in (torch.float16, torch.bfloat16):
            numbers = numbers / np.maximum(numbers.sum(axis=-1, keepdims=True), 1e-12)  # takes the rounding off
        heads = slice(None) if self.heads is None else list(self.heads)
        names = self.named(len(numbers))
        return [LayerMaps(name=name, step=step, weights=one[heads]) for (name, step), one in zip(names, numbers, strict=False)]

    def add_vectors(self, query: Tensor, key: Tensor, *, scale: float, causal: bool, bias: Tensor | None) -> list[Layer]:
        """A layer of queries and keys (windows, heads, n, d), as weights where they are few or its windows many."""
        if len(query) > 1 or min(query.shape[-2], key.shape[-2]) < LARGE:
            return self.add_weights(weights_of(query, key, bias, is_causal=causal, scale=scale))
        q, k, b = (None if one is None else one[0].detach().float().cpu().numpy() for one in (query, key, bias))
        assert q is not None and k is not None
        layers = [
            LayerVectors(name=name, step=step, queries=q, keys=k, scale=scale, causal=causal, bias=b)
            for name, step in self.named(1)
        ]
        return [one if self.heads is None else one.of_heads(self.heads) for one in layers]


class _Watch(TorchFunctionMode):
    """Sees every function of torch that its thread calls."""

    def __init__(self, kept: _Kept) -> None:
        super().__init__()
        self.kept = kept
        self.shares: dict[int, tuple[weakref.ref[Tensor], Tensor]] = {}  # the kept item of a softmax's result, by the result's id

    def __torch_function__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """The function's own result; what of it is attention is kept before."""
        del types
        options = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        anew = torch._C._current_graph_task_id() != -1  # a checkpoint computes its forward pass again for the backward one
        if name == "scaled_dot_product_attention" and not anew:
            self.kept.record(lambda: self._fused(*args, **options))
        elif func is F.multi_head_attention_forward and not anew:
            self.kept.record(lambda: self._multi_head(_MULTI_HEAD.bind(*args, **options).arguments))
        elif name in _PRODUCT and self.shares and not anew:
            self.kept.record(lambda: self._product(args))
        carried = self._carried(args[0]) if name in _SAME_SHARES and args else None  # before: dropout may work in place
        result = func(*args, **options)
        if name in _SOFTMAX and not anew and isinstance(result, Tensor):
            self.kept.record(lambda: self._softmax(result, options.get("dim", args[1] if len(args) > 1 else None)))
        elif carried is not None and isinstance(result, Tensor):
            self.shares[id(result)] = weakref.ref(result), carried
        return result

    def _carried(self, tensor: Any) -> Tensor | None:
        of, item = self.shares.get(id(tensor), (None, None))
        return item if of is not None and of() is tensor else None

    def _softmax(self, result: Tensor, axis: int | None) -> None:
        if axis in (-1, result.ndim - 1) and result.ndim > 1:
            self.shares = {key: one for key, one in self.shares.items() if one[0]() is not None}
            item = self.kept.one_item(result.detach(), result.shape[:-2]).clone()
            self.shares[id(result)] = weakref.ref(result), item

    def _product(self, args: Sequence[Any]) -> list[Layer] | None:
        if args and isinstance(args[0], str):  # einsum's equation
            operands = args[1] if len(args) == 2 and not isinstance(args[1], Tensor) else args[1:]
        else:
            operands = args[:1]
        for one in operands:
            if (item := self._carried(one)) is not None:
                self.shares = {key: pair for key, pair in self.shares.items() if pair[1] is not item}
                return self.kept.add_weights(item)
        return None

    def _fused(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        **options: Any,
    ) -> list[Layer]:
        del value, dropout_p
        lead = query.shape[:-2]
        q = self.kept.one_item(query, lead)
        k = self.kept.one_item(key, key.shape[:-2] if options.get("enable_gqa") else lead)
        bias = None if attn_mask is None else self.kept.one_item(_as_bias(attn_mask), lead)
        scale = options.get("scale")
        return self.kept.add_vectors(q, k, scale=query.shape[-1] ** -0.5 if scale is None else scale, causal=is_causal, bias=bias)

    def _multi_head(self, given: dict[str, Any]) -> list[Layer]:
        """The item's maps, which the function itself computes once more without dropout; of a large one its projections."""
        query, key, heads, mask = given["query"], given["key"], given["num_heads"], given.get("attn_mask")
        if query.ndim == 3:
            self.kept.check_item(query.shape[1])
            at = slice(self.kept.batch, self.kept.batch + 1)
            given |= {name: given[name][:, at] for name in ("query", "key", "value")}
            if given.get("key_padding_mask") is not None:
                given["key_padding_mask"] = given["key_padding_mask"][at]
            if mask is not None and mask.ndim == 3:
                given["attn_mask"] = mask[self.kept.batch * heads : (self.kept.batch + 1) * heads]
        own = [given.get(name) for name in ("bias_k", "bias_v", "static_k", "static_v", "key_padding_mask")]
        plain = not given["add_zero_attn"] and all(one is None for one in own)
        if plain and min(query.shape[0], key.shape[0]) >= LARGE:
            return self._projected(given, heads)
        given |= {"need_weights": True, "average_attn_weights": False, "training": False, "dropout_p": 0.0}
        weights = F.multi_head_attention_forward(**given)[1]
        assert weights is not None
        return self.kept.add_weights(weights.reshape(1, *weights.shape[-3:]))

    def _projected(self, given: dict[str, Any], heads: int) -> list[Layer]:
        if given.get("use_separate_proj_weight"):
            into = given["q_proj_weight"], given["k_proj_weight"]
        else:
            into = given["in_proj_weight"].chunk(3)[:2]
        biases = (None, None) if given["in_proj_bias"] is None else given["in_proj_bias"].chunk(3)[:2]
        q, k = (
            F.linear(given[name].reshape(-1, given[name].shape[-1]), weight, bias)
            .unflatten(-1, (heads, -1))
            .transpose(0, 1)[None]
            for name, weight, bias in zip(("query", "key"), into, biases, strict=True)
        )
        mask = given.get("attn_mask")
        if mask is not None:  # True is left out here, and kept in fused attention
            mask = _as_bias(~mask if mask.dtype == torch.bool else mask)
            mask = mask.reshape(1, -1, *mask.shape[-2:])
        return self.kept.add_vectors(q, k, scale=q.shape[-1] ** -0.5, causal=False, bias=mask)


def _as_bias(mask: Tensor) -> Tensor:
    """A mask as what is added to the scores."""
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, -math.inf)


def weights_of(query: Tensor, key: Tensor, bias: Tensor | None, *, is_causal: bool, scale: float) -> Tensor:
    """softmax(q k^T scale + bias) in float32, as `F.scaled_dot_product_attention` has it: (..., heads, queries, keys).

    Args:
        key: with as many heads, or a divisor of them. is_causal: as of the first query and key.
    """
    key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
    scores = query.float() @ key.float().transpose(-2, -1) * scale
    if is_causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril(), -math.inf)
    return (scores if bias is None else scores + bias).softmax(dim=-1)
