"""Cost of whole models, module by module, as PyTorch counts it in the built model (D4, D7).

Models are built on the "meta" device: shapes without numbers, so that even IIGA at the document's size takes no memory.
Attention runs on its explicit path, since PyTorch's counter does not see into the fused kernel of a CPU.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from core import checkpoints
from core.device import without_memory
from core.lecture.dates import SYMBOLS
from core.models import MODELS, parameters
from core.models.config import AttentionConfig
from core.models.iiga import DOCUMENT, IIGAConfig
from core.models.mobilenet import ConvNormActivation, InvertedResidual
from core.models.tlob import BTC, FI2010, TLOBConfig
from core.models.transformer import TransformerConfig
from core.models.vit import ViTConfig
from core.nn import BiN, EncoderLayer, FeedForward, LearnedPositions, MultiHeadAttention

ROWS: Final = (
    MultiHeadAttention, FeedForward, ConvNormActivation, InvertedResidual, nn.Conv1d, nn.LayerNorm, BiN, LearnedPositions,
    nn.Embedding, nn.Linear, nn.ModuleDict,
)  # fmt: skip
"""Modules that are a row of their own, whatever they hold; all others are looked into."""
COUNTED: Final = ("tlob", "vit", "iiga", "transformer")
"""Models that are offered."""
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


@dataclass(frozen=True, kw_only=True)
class CostRow:
    """One module's cost for one sample (a window, an image, a clip, a date).

    Attributes:
        module: its name in the built model, or that of a parameter which the model itself holds.
        parameters: numbers that training changes. macs: multiply-adds of one forward pass.
        shapes: of what went in and came out at its first call, and of a map; none where it is not called itself.
    """

    module: str
    parameters: int
    macs: int
    shapes: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, kw_only=True)
class CountedCost:
    """The built model's cost for one sample; `maps` are its attention weights."""

    rows: tuple[CostRow, ...]
    macs: int
    maps: int

    @property
    def parameters(self) -> int:
        """Of the whole model, all of which stand in a row."""
        return sum(row.parameters for row in self.rows)


def _named_parts(model: nn.Module, above: str = "") -> Iterator[tuple[str, nn.Module | nn.Parameter]]:
    """Modules and parameters that are rows, in the model's order."""
    yield from model.named_parameters(above, recurse=False)
    for child, module in model.named_children():
        name = f"{above}.{child}" if above else child
        if isinstance(module, ROWS):
            yield name, module
        elif parameters.count(module):
            yield from _named_parts(module, name)


def _shapes(given: Tensor, made: Any) -> tuple[tuple[int, ...], ...]:
    outputs = made if isinstance(made, tuple) else (made,)
    return tuple(tuple(one.shape) for one in (given, *outputs) if isinstance(one, Tensor))


@cache
def count(config: AttentionConfig, tokens: int) -> CountedCost:
    """Build the model on the meta device, pass one sample, and count.

    Args:
        tokens: frames of IIGA, source symbols of the Transformer; TLOB and ViT have theirs in the configuration.
    """
    with without_memory():
        model, sample = MODELS[config.model][0](config).eval(), config.example_inputs(tokens)
    passed: dict[str, tuple[tuple[int, ...], ...]] = {}
    for name, module in model.named_modules():
        module.register_forward_hook(lambda _m, x, y, name=name: passed.setdefault(name, _shapes(x[0], y)) and None)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        maps = model(*sample, return_attention=True)[1]
    root = type(model).__name__
    macs = {name.removeprefix(f"{root}."): sum(flops.values()) // 2 for name, flops in counter.get_flop_counts().items()}

    def under(module: str) -> int:  # a dictionary of modules is never called itself
        return macs.get(module, sum(one for name, one in macs.items() if name.rpartition(".")[0] == module))

    whole = counter.get_total_flops() // 2
    parts = list(_named_parts(model))
    others = sum(under(name) for name, part in parts if isinstance(part, nn.Module))
    rows = tuple(
        CostRow(
            module=name,
            parameters=parameters.count(part) if isinstance(part, nn.Module) else part.numel(),
            macs=under(name) if isinstance(part, nn.Module) else (whole - others if name == "pool_logits" else 0),
            shapes=passed.get(name, ()),
        )
        for name, part in parts
    )
    return CountedCost(rows=rows, macs=whole, maps=sum(one.numel() for one in maps.values()))


def iiga_split(c: IIGAConfig, frames: int) -> dict[str, int]:
    """MACs of the convolutions, of the attention layers and of the decoder (iiga-equations section 14.3)."""
    whole = count(c, frames)
    front = sum(row.macs for row in whole.rows if row.module.startswith("front"))
    decoder = sum(row.macs for row in whole.rows if row.module == "decoder")
    return {"cnn": front, "transformer": whole.macs - front - decoder, "decoder": decoder}


@cache
def layer_macs(tokens: int, width: int, heads: int) -> int:
    """MACs that PyTorch counts in one encoder layer of T tokens and width D."""
    with torch.device("meta"):
        layer = EncoderLayer(width, heads, 4 * width, dropout=0.0)
        x = torch.zeros(1, tokens, width)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            layer(x, return_attention=True)
    return int(counter.get_total_flops()) // 2
