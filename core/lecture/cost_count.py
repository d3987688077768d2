"""Cost of whole models, module by module: by formula from the shapes that pass through, and as PyTorch counts it.

Models are built on the "meta" device: shapes without numbers, so that even IIGA at the document's size takes no memory.
Attention runs on its explicit path, since PyTorch's counter does not see into the fused kernel of a CPU.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from core import checkpoints
from core.lecture import cost
from core.lecture.dates import SYMBOLS
from core.lecture.notebooks import on_screen
from core.models import MODELS, parameters
from core.models.config import AttentionConfig
from core.models.iiga import DOCUMENT, IIGAConfig
from core.models.mobilenet import ConvNormActivation, InvertedResidual
from core.models.tlob import BTC, FI2010, TLOBConfig
from core.models.transformer import TransformerConfig
from core.models.vit import ViTConfig
from core.nn import BiN, EncoderLayer, FeedForward, LearnedPositions, MultiHeadAttention

Kind = Literal["convolution", "embedding", "positions", "norm", "attention", "feed_forward", "head"]
KINDS: Final[tuple[Kind, ...]] = ("convolution", "embedding", "positions", "norm", "attention", "feed_forward", "head")
BY_TYPE: Final[Mapping[type[nn.Module], Kind]] = {
    MultiHeadAttention: "attention",
    FeedForward: "feed_forward",
    ConvNormActivation: "convolution",
    InvertedResidual: "convolution",
    nn.Conv1d: "convolution",
    nn.LayerNorm: "norm",
    BiN: "norm",
    LearnedPositions: "positions",
    nn.Embedding: "embedding",
    nn.Linear: "embedding",
}
"""Modules that are a row of their own, whatever they hold; all others are looked into."""
BY_NAME: Final[Mapping[str, Kind]] = {
    "qkv": "attention", "w0": "attention", "classifiers": "head", "head": "head", "decoder": "head", "out": "head",
    "pool_logits": "head",
}  # fmt: skip
"""Kinds of modules and parameters whose type does not tell: by their name, or that of the list they are in."""
COUNTED: Final = ("tlob", "vit", "iiga", "transformer")
"""Models of the page."""
FRAMES: Final = 12
"""T of iiga-equations section 1."""
TRACK_FRAMES: Final = 64
"""T where a clip comes as tracked positions: about two seconds of a signed sentence."""
SOURCE: Final = 24
"""Symbols of a date as people write it, such as "sábado, 3 de mayo de 1979"."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A model as it can be built; `tokens` are frames or source symbols where the configuration leaves them open."""

    config: AttentionConfig
    tokens: int = 0

    @property
    def length(self) -> int:
        """T: rows that attention compares."""
        return self.config.sequence_length or self.tokens


def setups(folder: Any = checkpoints.FOLDER) -> dict[str, Setup]:
    """Every configuration by code, the documents' first; checkpoints of other models or without a readable card are left out."""
    by_name = {
        "tlob": Setup(config=BTC),
        "tlob-lean": Setup(config=TLOBConfig(qkv="single")),
        "tlob-fi2010": Setup(config=FI2010),
        "vit": Setup(config=ViTConfig()),
        "iiga": Setup(config=DOCUMENT, tokens=FRAMES),
        "dates": Setup(config=TransformerConfig(vocabulary=len(SYMBOLS)), tokens=SOURCE),
    }
    tokens = {"iiga": FRAMES, "transformer": SOURCE}
    for path in sorted(folder.glob("*.json")):
        try:
            card = checkpoints.read_card(path.stem, folder=folder)
            config = checkpoints.read_config(card, MODELS[card["model"]][0])
        except (checkpoints.CheckpointError, KeyError):
            continue
        if not isinstance(config, AttentionConfig) or config.model not in COUNTED:
            continue
        length = TRACK_FRAMES if getattr(config, "front", None) == "tracks" else tokens.get(config.model, 0)
        by_name[f"shipped-{path.stem}"] = Setup(config=config, tokens=length)
    return by_name


def tlob_values(by_name: Mapping[str, Setup]) -> dict[str, Any]:
    """Values for the notebook of all models: the shapes of the plain TLOBs, and their parameters and multiply-adds."""
    configs, counts = {}, {}
    for name, setup in by_name.items():
        c = setup.config
        plain = isinstance(c, TLOBConfig) and c.heads == c.outputs == 1 and not c.mirrored and c.pooling == "mean"
        if isinstance(c, TLOBConfig) and plain:
            configs[name] = [c.steps, c.width, c.features, c.pairs, c.qkv == "double", c.positions == "learned"]
            whole = total(rows(c, setup.tokens))
            counts[name] = [whole.parameters, whole.macs]
    return {"CONFIGS": configs, **on_screen(counts)}


def build(config: AttentionConfig) -> nn.Module:
    """The model, untrained, in evaluation mode."""
    return MODELS[config.model][0](config).eval()


@dataclass(frozen=True, kw_only=True)
class CostRow:
    """One module's cost for one sample (a window, an image, a clip, a date).

    Attributes:
        module: its name in the built model, or that of a parameter which the model itself holds.
        parameters: numbers that training changes. macs: multiply-adds of one forward pass, by formula.
        maps: attention weights, numbers. widest: numbers in the largest tensor it makes besides them.
        shapes: of what went in and came out at its first call, and of a map; none where it is not called itself.
    """

    module: str
    kind: Kind
    parameters: int
    macs: int = 0
    maps: int = 0
    widest: int = 0
    shapes: tuple[tuple[int, ...], ...] = ()


@dataclass
class _Passed:
    """Shapes, products and maps of one call of a module."""

    shapes: tuple[tuple[int, ...], ...]
    macs: int
    maps: int
    widest: int


def _macs(module: nn.Module, x: Tensor, made: Sequence[Tensor]) -> int:
    """Multiply-adds of a module's own products: T n_in n_out, H'W' k^2 c_in / G c_out, and Q K^T and A V of attention."""
    if isinstance(module, nn.Linear):
        return x.numel() * module.out_features
    if isinstance(module, nn.Conv1d | nn.Conv2d):
        return made[0].numel() * module.weight[0].numel()
    if isinstance(module, MultiHeadAttention):
        batch, _heads, queries, keys = made[1].shape
        return batch * cost.score_macs(queries, keys, module.q.out_features)
    return 0


def _watch(model: nn.Module) -> dict[str, _Passed]:
    """Each module's first call, by name; filled in by the model's next pass."""
    passed: dict[str, _Passed] = {}

    def note(name: str, module: nn.Module, x: Tensor, output: Any) -> None:
        made = [one for one in (output if isinstance(output, tuple) else (output,)) if isinstance(one, Tensor)]
        shapes = tuple(tuple(one.shape) for one in (x, *made))
        maps = 0
        if isinstance(module, MultiHeadAttention):
            _batch, heads, queries, keys = made[1].shape
            maps = cost.map_numbers(queries, keys, heads)
        passed.setdefault(name, _Passed(shapes, _macs(module, x, made), maps, made[0].numel() if made else 0))

    for name, module in model.named_modules():
        module.register_forward_hook(lambda one, x, y, name=name: note(name, one, x[0], y))
    return passed


def _named_parts(model: nn.Module, above: str = "") -> Iterator[tuple[str, Kind, nn.Module | nn.Parameter]]:
    """Modules and parameters that are rows, in the model's order."""
    for name, parameter in model.named_parameters(above, recurse=False):
        yield name, BY_NAME.get(name, "embedding"), parameter
    for child, module in model.named_children():
        name = f"{above}.{child}" if above else child
        named = BY_NAME.get(child) or BY_NAME.get(above)
        if isinstance(module, (*BY_TYPE, nn.ModuleDict)):
            yield name, named or BY_TYPE[type(module)], module
        elif parameters.count(module):
            yield from _named_parts(module, name)


def _meta(config: AttentionConfig, tokens: int) -> tuple[nn.Module, tuple[Tensor, ...]]:
    with torch.device("meta"):
        return build(config), config.example_inputs(tokens)


@cache
def rows(config: AttentionConfig, tokens: int) -> list[CostRow]:
    """Every part of a model, by formula.

    Args:
        tokens: frames of IIGA, source symbols of the Transformer; TLOB and ViT have theirs in the configuration.
    """
    model, x = _meta(config, tokens)
    passed = _watch(model)
    with torch.no_grad():
        model(*x, return_attention=True)
    found = []
    for name, kind, part in _named_parts(model):
        if isinstance(part, nn.Parameter):  # learned pooling gives what the classifiers read; a class token is only put in front
            macs = part.numel() * math.prod(passed["classifiers.0"].shapes[0]) if name == "pool_logits" else 0
            found.append(CostRow(module=name, kind=kind, parameters=part.numel(), macs=macs, widest=part.numel()))
            continue
        inside = [one for at, one in passed.items() if at == name or at.startswith(f"{name}.")]
        found.append(
            CostRow(
                module=name,
                kind=kind,
                parameters=parameters.count(part),
                macs=sum(one.macs for one in inside),
                maps=sum(one.maps for one in inside),
                widest=max(one.widest for one in inside),
                shapes=passed[name].shapes if name in passed else (),
            )
        )
    return found


@dataclass(frozen=True, kw_only=True)
class Total:
    """Sums over parts: parameters, MACs and attention weights; `widest` is the largest tensor besides maps. Bytes in float32."""

    parameters: int
    macs: int
    maps: int
    widest: int

    @property
    def weight_bytes(self) -> int:
        """Of the parameters."""
        return cost.BYTES * self.parameters

    @property
    def map_bytes(self) -> int:
        """Of every layer's attention weights together, as a page that shows them holds them."""
        return cost.BYTES * self.maps


def total(listed: Sequence[CostRow]) -> Total:
    """The sums."""
    return Total(
        parameters=sum(part.parameters for part in listed),
        macs=sum(part.macs for part in listed),
        maps=sum(part.maps for part in listed),
        widest=max(part.widest for part in listed),
    )


def macs_by_kind(listed: Sequence[CostRow]) -> dict[Kind, int]:
    """MACs of each kind of part, in the order of KINDS; kinds without any are left out."""
    sums = {kind: sum(part.macs for part in listed if part.kind == kind) for kind in KINDS}
    return {kind: macs for kind, macs in sums.items() if macs}


def iiga_split(c: IIGAConfig, frames: int, batch: int = 1) -> dict[str, int]:
    """MACs of the convolutions, of the attention layers and of the decoder, for a batch (iiga-equations section 14.3)."""
    listed = rows(c, frames)
    front = sum(part.macs for part in listed if part.module.startswith("front"))
    decoder = sum(part.macs for part in listed if part.module == "decoder")
    whole = sum(part.macs for part in listed)
    return {"cnn": batch * front, "transformer": batch * (whole - front - decoder), "decoder": batch * decoder}


@dataclass(frozen=True, kw_only=True)
class CountedCost:
    """PyTorch's count of the built model for one sample.

    Attributes:
        parameters, maps: of the whole model. macs: by module, "" the whole; none for modules that are not called themselves.
    """

    parameters: int
    maps: int
    macs: Mapping[str, int]

    def of(self, module: str) -> int:
        """MACs of a module, or, where it was never called itself (a dictionary of modules), of those right under it."""
        return self.macs.get(module, sum(macs for one, macs in self.macs.items() if one.rpartition(".")[0] == module))

    def by_row(self, listed: Sequence[CostRow]) -> dict[str, int]:
        """MACs of each row of a model; a parameter's, the learned pooling's, are those that no module has done."""
        macs = {row.module: self.of(row.module) for row in listed}
        return macs | {name: self.of("") - sum(macs.values()) for name in macs if name == "pool_logits"}


@cache
def count(config: AttentionConfig, tokens: int) -> CountedCost:
    """Build the model on the meta device and count."""
    model, x = _meta(config, tokens)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        maps = model(*x, return_attention=True)[1]
    root = type(model).__name__
    macs = {
        name.removeprefix(root).removeprefix("."): sum(flops.values()) // 2 for name, flops in counter.get_flop_counts().items()
    }
    macs[""] = counter.get_total_flops() // 2
    return CountedCost(parameters=parameters.count(model), maps=sum(one.numel() for one in maps.values()), macs=macs)


@cache
def layer_macs(tokens: int, width: int, heads: int) -> int:
    """MACs that PyTorch counts in one encoder layer of T tokens and width D."""
    with torch.device("meta"):
        layer = EncoderLayer(width, heads, 4 * width, dropout=0.0)
        x = torch.zeros(1, tokens, width)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            layer(x, return_attention=True)
    return int(counter.get_total_flops()) // 2
