"""One call from weights, a model's output or a model to a view of its attention."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from attention_light.layers import ROUNDED, Layer, LayerMaps, LayerVectors, SceneError
from attention_light.pictures import patches_of, picture_for
from attention_light.scene import AttentionScene
from attention_light.stages import PictureStage, Stage, WordStage

MOST_BYTES: Final = 20_000_000
"""Bytes of layers from which on a call says so."""
CROSS: Final = re.compile(r"cross|encoder_attn|multihead_attn|encdec|encoder_decoder", re.IGNORECASE)
"""Names of attention from what is written to what was read."""
GROUPS: Final = ("encoder_attentions", "attentions", "decoder_attentions", "cross_attentions")
"""Names of maps in an output of transformers."""


def look(
    what: Any,
    given: Any = None,
    /,
    *,
    tokens: Any = None,
    answer: Any = None,
    batch: int | None = None,
    layers: Sequence[str | int] | None = None,
    heads: Sequence[int] | None = None,
) -> Any:
    """A view of attention: an anywidget where that package is installed, else the `AttentionScene`, which a notebook draws too.

        look(weights, tokens)                      # an array (layers, heads, n, n), or a list of arrays a layer
        look(outputs, tokens)                      # of transformers, or its `attentions`
        look(cache, tokens)                        # of TransformerLens or nnsight
        look(model, inputs, tokens=tokens)         # runs the model once, captured
        look(vit, image)                           # the same over a picture
        look(layers, tokens)                       # of `with capture(model) as layers:`, also around `model.generate(...)`

    Args:
        tokens: a name for each token, or a tokenizer where the inputs have `input_ids`; numbers where left out.
        answer: of an encoder-decoder, what its decoder read: the begin sign first.
        batch: the item, from 0; where left out the first, and a warning says so where there are more.
        layers: names, or numbers from 0, of those that are kept. heads: numbers from 0.

    Raises:
        SceneError: for rows that do not sum to 1, with what they sum to; for tokens or layers that do not fit each other.

    Warns:
        RuntimeWarning: of a batch, of a model in training mode, of more than `MOST_BYTES`.
    """
    if callable(what) and hasattr(what, "named_modules"):
        tokens = _spelled(tokens, given)
        found, stage = _run(what, given, batch=batch, layers=layers, heads=heads)
    else:
        found, stage = chosen(layers_of(what, batch), layers, heads), None
        tokens = _spelled(given if tokens is None else tokens, None)
    scene = AttentionScene(**_fitted(grown(found), stage, tokens, answer))
    size = sum(one.size for one in scene.layers)
    if size > MOST_BYTES:
        _warn(f"the view carries {size / 1e6:.0f} MB: layers= and heads= choose what is sent")
    try:
        from attention_light.notebook import LightView
    except ModuleNotFoundError:
        return scene
    return LightView(scene)


def layers_of(what: Any, batch: int | None = None) -> list[Layer]:
    """Layers of arrays, of a model's output or of a cache, one item of each.

    Raises:
        SceneError: where there is no attention in it.
    """
    groups = {name: getattr(what, name, None) for name in GROUPS}
    named: list[tuple[str, Any]] = []
    if any(groups.values()):
        for group, maps in groups.items():
            side = group.removesuffix("attentions").removesuffix("_")
            named += [(f"{side} layer {i + 1}".strip(), one) for i, one in enumerate(maps or ())]
    elif hasattr(what, "items"):
        items = list(what.items())
        patterns = [(str(name), one) for name, one in items if str(name).endswith("pattern")]
        named = patterns or [(str(name), one) for name, one in items]
    elif hasattr(what, "attentions"):
        raise SceneError("the output holds no attention: call the model with output_attentions=True, or look(model, inputs)")
    else:
        named = [(f"layer {i + 1}", one) for i, one in enumerate(what)]
    return [one if isinstance(one, LayerMaps | LayerVectors) else _layer(name, one, batch) for name, one in named]


def _layer(name: str, given: Any, batch: int | None) -> LayerMaps:
    """A layer of (heads, n, m), (n, m) or (batch, heads, n, m) numbers of any library."""
    value = given.value if hasattr(given, "value") and not hasattr(given, "shape") else given
    weights = np.asarray(value.detach().float().cpu() if hasattr(value, "detach") else value)
    coarse = str(getattr(value, "dtype", "")).endswith("16")
    if not np.issubdtype(weights.dtype, np.floating) or not 2 <= weights.ndim <= 4:
        raise SceneError(f"{name} is {weights.dtype} of shape {weights.shape}: weights are floats of shape (heads, n, n)")
    if weights.ndim == 4:
        if not 0 <= (batch or 0) < len(weights):
            raise SceneError(f"the batch has {len(weights)} items: batch={batch} is none of them, which are counted from 0")
        if batch is None and len(weights) > 1:
            _warn(f"item 0 of {len(weights)} in the batch is shown: batch= picks another")
        weights = weights[batch or 0]
    weights = weights.reshape(-1, *weights.shape[-2:])
    if coarse:
        sums = weights.sum(axis=-1, keepdims=True)
        weights = np.where(np.abs(sums - 1) < ROUNDED, weights / np.where(sums == 0, 1, sums), weights)
    return LayerMaps(name=name, weights=weights)


def chosen(found: Sequence[Layer], layers: Sequence[str | int] | None, heads: Sequence[int] | None) -> list[Layer]:
    """The layers of these names or numbers, with these heads."""
    kept = [one for i, one in enumerate(found) if layers is None or i in layers or one.name in layers]
    if not kept:
        raise SceneError(f"no layer is left: there are {', '.join(one.name for one in found) or 'none'}")
    if heads is None:
        return kept
    return [one.of_heads(heads) for one in kept]


def _run(model: Any, inputs: Any, *, batch: int | None, **choice: Any) -> tuple[list[Layer], Stage | None]:
    """Layers of one pass without gradients and dropout, and the stage where the inputs are a picture."""
    from torch import no_grad

    from attention_light.tracing import capture

    shown, inputs = picture_for(model, inputs)
    items = max((len(one) for one in _tensors(inputs) if one.ndim > 1), default=1)
    if batch is None and items > 1:
        _warn(f"item 0 of {items} in the batch is shown: batch= picks another")
    training = model.training
    if training:
        _warn("the model is in training mode: it ran without dropout, as after model.eval()")
    try:
        with no_grad(), capture(model.eval(), batch or 0, **choice) as found:
            if hasattr(inputs, "keys"):
                model(**inputs)
            elif isinstance(inputs, tuple | list):
                model(*inputs)
            else:
                model(inputs)
    finally:
        model.train(training)
    if not found:
        raise SceneError("no attention was caught: the warning says what was looked for")
    if shown is None:
        return found, None
    pixels = shown[batch or 0]
    grid, extra = patches_of(model, pixels.shape[:2], found[0].shape[-1])
    return found, PictureStage(pixels=pixels, grid=grid, extra=extra)


def _tensors(inputs: Any) -> list[Any]:
    values = inputs.values() if hasattr(inputs, "values") and not hasattr(inputs, "ndim") else inputs
    values = values if not hasattr(values, "ndim") else [values]
    return [one for one in values if hasattr(one, "ndim")]


def _spelled(tokens: Any, inputs: Any) -> list[str] | None:
    """Names of the tokens: as they are, or of a tokenizer those of the first item's `input_ids`."""
    if hasattr(tokens, "convert_ids_to_tokens"):
        ids = inputs["input_ids"] if hasattr(inputs, "keys") else inputs
        flat = np.asarray(ids)
        return [str(one) for one in tokens.convert_ids_to_tokens(flat.reshape(-1, flat.shape[-1])[0].tolist())]
    if isinstance(tokens, str):
        return tokens.split()
    return None if tokens is None else [str(one) for one in tokens]


def grown(found: Sequence[Layer]) -> list[Layer]:
    """Layers whose steps, as of `generate()`, are put together: each step's rows below those of the steps before."""
    steps: dict[str, list[Layer]] = {}
    for one in found:
        steps.setdefault(re.sub(r", step \d+", "", one.name), []).append(one)
    return [parts[0] if len(parts) == 1 else _grown(name, parts) for name, parts in steps.items()]


def _grown(name: str, parts: Sequence[Layer]) -> LayerMaps:
    heads, rows, keys = np.max([one.shape for one in parts], axis=0)
    crosses = len({one.shape[2] for one in parts}) == 1  # what is read does not grow
    count = sum(one.shape[1] for one in parts) if crosses and rows == 1 else keys if not crosses else rows
    whole = np.zeros((heads, count, keys), dtype=np.float32)
    at = 0
    for one in parts:
        if not crosses:
            at = one.shape[2] - one.shape[1]
        elif one.shape[1] > 1:
            at = 0  # without a cache each step computes all rows again
        whole[:, at : at + one.shape[1], : one.shape[2]] = one.weights
        at += one.shape[1]
    return LayerMaps(name=name, weights=whole)


def _fitted(found: list[Layer], stage: Stage | None, tokens: list[str] | None, answer: Any) -> dict[str, Any]:
    """The scene's stage and its layers, by the kinds of tokens that they relate."""
    crosses = [bool(CROSS.search(one.name)) and (one.shape[1] != one.shape[2] or "decoder" in one.name) for one in found]
    crosses = [one or (layer.shape[1] != layer.shape[2]) for one, layer in zip(crosses, found, strict=True)]
    if not any(crosses):
        sizes = Counter(one.shape[1:] for one in found)
        if len(sizes) > 1:
            listed = ", ".join(f"{rows} x {keys} in {count}" for (rows, keys), count in sizes.items())
            raise SceneError(f"the layers have maps of several sizes, {listed} of them: layers= chooses those of one size")
        return {"stage": stage or _words(found[0].shape[2], tokens), "layers": found}
    read = next(layer.shape[2] for layer, cross in zip(found, crosses, strict=True) if cross)
    written = next(layer.shape[1] for layer, cross in zip(found, crosses, strict=True) if cross)
    spelled = _spelled(answer, None) or [str(i) for i in range(written + 1)]
    if len(spelled) == written:
        spelled.append("…")  # what follows the last one is not known
    if len(spelled) != written + 1:
        raise SceneError(
            f"{len(spelled)} names are given for the answer, of which the decoder read {written}: begin with its first"
        )
    words = _words(read, tokens)
    kinded = []
    for layer, cross in zip(found, crosses, strict=True):
        own = not cross and ("decoder" in layer.name or layer.shape[1] != read)
        kinded.append(replace(layer, kind="word" if not own else "past", of="symbol" if own or cross else ""))
    return {"stage": replace(words, answer=WordStage.of_pieces(spelled).words), "layers": kinded, "rolled": False}


def _words(count: int, tokens: list[str] | None) -> WordStage:
    names = [str(i + 1) for i in range(count)] if tokens is None else tokens
    if len(names) == count + 1:
        names = names[:-1]  # the last one that is written is not read any more
    if len(names) != count:
        raise SceneError(f"{len(names)} tokens are given, and the maps are of {count}: give one for each")
    return WordStage.of_pieces(names)


def _warn(sentence: str) -> None:
    warnings.warn(sentence, RuntimeWarning, stacklevel=4)
