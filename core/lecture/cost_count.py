"""Beside the formulas of `core.lecture.cost`: what PyTorch counts in the built model.

Models are built on the "meta" device for counting: shapes without numbers, so that even IIGA at the document's size takes
no memory. Attention runs on its explicit path, since PyTorch's counter does not see into the fused kernel of a CPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from core import checkpoints
from core.lecture.cost import FORMULAS, CostPart, parts, total
from core.lecture.dates import SYMBOLS
from core.lecture.notebooks import on_screen
from core.models import MODELS, parameters
from core.models.config import AttentionConfig
from core.models.iiga import DOCUMENT
from core.models.tlob import BTC, FI2010, TLOBConfig
from core.models.transformer import TransformerConfig
from core.models.vit import ViTConfig
from core.nn import EncoderLayer

FRAMES: Final = 12
"""T of iiga-equations section 1."""
TRACK_FRAMES: Final = 64
"""T where a clip comes as tracked positions: about two seconds of a signed sentence."""
SOURCE: Final = 24
"""Symbols of a date as people write it, such as "sábado, 3 de mayo de 1979"."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A model as it can be built.

    Attributes:
        model: "tlob", "vit", "iiga" or "transformer". name: of the configuration; a checkpoint's own where it comes from one.
        tokens: frames or source symbols where the configuration leaves them open; 0 elsewhere.
    """

    model: str
    name: str
    config: AttentionConfig
    tokens: int = 0
    shipped: bool = False


def setups(folder: Any = checkpoints.FOLDER) -> dict[str, Setup]:
    """Every configuration by code, the documents' first; checkpoints without formulas or a readable card are left out."""
    by_name = {
        "tlob": Setup(model="tlob", name="BTC", config=BTC),
        "tlob-lean": Setup(model="tlob", name="lean", config=TLOBConfig(qkv="single")),
        "tlob-fi2010": Setup(model="tlob", name="FI-2010", config=FI2010),
        "vit": Setup(model="vit", name="default", config=ViTConfig()),
        "iiga": Setup(model="iiga", name="document", config=DOCUMENT, tokens=FRAMES),
        "dates": Setup(model="transformer", name="dates", config=TransformerConfig(vocabulary=len(SYMBOLS)), tokens=SOURCE),
    }
    tokens = {"iiga": FRAMES, "transformer": SOURCE}
    for path in sorted(folder.glob("*.json")):
        try:
            card = checkpoints.read_card(path.stem, folder=folder)
            config = checkpoints.read_config(card, MODELS[card["model"]][0])
        except (checkpoints.CheckpointError, KeyError):
            continue
        if not isinstance(config, AttentionConfig) or config.model not in FORMULAS:
            continue
        length = TRACK_FRAMES if getattr(config, "front", None) == "tracks" else tokens.get(config.model, 0)
        by_name[f"shipped-{path.stem}"] = Setup(model=card["model"], name=path.stem, config=config, tokens=length, shipped=True)
    return by_name


def tlob_values(by_name: Mapping[str, Setup]) -> dict[str, Any]:
    """Values for the notebook of all models: the shapes of the plain TLOBs, and their parameters and multiply-adds."""
    configs, counts = {}, {}
    for name, setup in by_name.items():
        c = setup.config
        plain = isinstance(c, TLOBConfig) and c.heads == c.outputs == 1 and not c.mirrored and c.pooling == "mean"
        if isinstance(c, TLOBConfig) and plain:
            configs[name] = [c.steps, c.width, c.features, c.pairs, c.qkv == "double", c.positions == "learned"]
            whole = total(parts(c, setup.tokens))
            counts[name] = [whole.parameters, whole.macs]
    return {"CONFIGS": configs, **on_screen(counts)}


def build(config: AttentionConfig) -> nn.Module:
    """The model, untrained, in evaluation mode."""
    return MODELS[config.model][0](config).eval()


class _WithMaps(nn.Module):
    """The model on its explicit attention path."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *x: Tensor) -> dict[str, Tensor]:
        maps: dict[str, Tensor] = self.model(*x, return_attention=True)[1]
        return maps


@dataclass(frozen=True, kw_only=True)
class CountedCost:
    """Counts of the built model for one sample.

    Attributes:
        parameters, macs: by module, for the modules of the formulas. maps: attention weights, numbers.
        shapes: by module, of what went in and came out at its first call; modules that are not called themselves have none.
        all_parameters, all_macs: of the whole model, whatever the list of modules.
    """

    parameters: dict[str, int]
    macs: dict[str, int]
    maps: int
    shapes: dict[str, tuple[tuple[int, ...], ...]]
    all_parameters: int
    all_macs: int


@cache
def count(config: AttentionConfig, tokens: int) -> CountedCost:
    """Build the model on the meta device and count."""
    with torch.device("meta"):
        model, x = build(config), config.example_inputs(tokens)
        names = [part.module for part in parts(config, tokens)]
        shapes = _watched(model, names)
        by_module, maps = _macs(_WithMaps(model), x)
    every = dict(model.named_parameters())
    held = {
        name: sum(value.numel() for one, value in every.items() if one == name or one.startswith(f"{name}.")) for name in names
    }
    modules = dict(model.named_modules())
    done = {name: _under(by_module, f"model.{name}") for name in names if name in modules}
    rest = by_module[""] - sum(done.values())
    done |= {name: rest if name == "pool_logits" else 0 for name in names if name not in modules}
    return CountedCost(
        parameters=held,
        macs=done,
        maps=sum(value.numel() for value in maps.values()),
        shapes=shapes,
        all_parameters=parameters.count(model),
        all_macs=by_module[""],
    )


def _watched(model: nn.Module, names: Iterable[str]) -> dict[str, tuple[tuple[int, ...], ...]]:
    """Shapes by module, filled in by the model's next pass: of the first input, the output, and a map where it returns one."""
    shapes: dict[str, tuple[tuple[int, ...], ...]] = {}
    modules = dict(model.named_modules())

    def watch(name: str) -> None:
        def note(_module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
            made = output if isinstance(output, tuple) else (output,)
            tensors = [one for one in (inputs[0], *made) if isinstance(one, Tensor)]
            shapes.setdefault(name, tuple(tuple(one.shape) for one in tensors))

        modules[name].register_forward_hook(note)

    for name in names:
        if name in modules:
            watch(name)
    return shapes


def _macs(model: nn.Module, x: tuple[Tensor, ...]) -> tuple[dict[str, int], dict[str, Tensor]]:
    """MACs by module name, "" for the whole; and the model's maps."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        maps = model(*x)
    root = type(model).__name__
    macs = {
        name.removeprefix(root).removeprefix("."): sum(flops.values()) // 2
        for name, flops in counter.get_flop_counts().items()
        if name != "Global"
    }
    return macs | {"": counter.get_total_flops() // 2}, maps


def _under(macs: dict[str, int], name: str) -> int:
    """Of the module, or, where it was never called itself (a list of modules), of those right under it."""
    if name in macs:
        return macs[name]
    below = [one for one in macs if one.startswith(f"{name}.")]
    return sum(macs[one] for one in below if not any(one.startswith(f"{other}.") for other in below))


@dataclass(frozen=True, kw_only=True)
class CostRow:
    """A part's formula beside its count, and its shapes (`CountedCost.shapes`)."""

    part: CostPart
    parameters: int
    macs: int
    shapes: tuple[tuple[int, ...], ...] = ()

    @property
    def equal(self) -> bool:
        """Tells whether both agree."""
        return (self.part.parameters, self.part.macs) == (self.parameters, self.macs)


def rows(config: AttentionConfig, tokens: int) -> list[CostRow]:
    """Every part, formula beside count."""
    counted = count(config, tokens)
    return [
        CostRow(
            part=part,
            parameters=counted.parameters[part.module],
            macs=counted.macs[part.module],
            shapes=counted.shapes.get(part.module, ()),
        )
        for part in parts(config, tokens)
    ]


@cache
def layer_macs(tokens: int, width: int, heads: int) -> int:
    """MACs that PyTorch counts in one encoder layer of T tokens and width D."""
    with torch.device("meta"):
        layer = EncoderLayer(width, heads, 4 * width, dropout=0.0)
        x = torch.zeros(1, tokens, width)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            layer(x, return_attention=True)
    return int(counter.get_total_flops()) // 2
