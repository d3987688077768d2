"""Base of the configurations of all models."""

import math
import reprlib
from dataclasses import asdict, dataclass, fields
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import torch
from torch import Tensor

from core.messages import BadValue, Message, compose


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Everything that shapes a network, in plain values; each model has its own.

    Attributes:
        model: the model's name in `core.models.MODELS` and in a card.

    Raises:
        ValueError: for a value of another type, and in each model for one that it cannot be built with.
    """

    model: ClassVar[str]

    def __post_init__(self) -> None:
        kinds = get_type_hints(type(self))
        for field in fields(self):
            fault = _fault(field.name, getattr(self, field.name), kinds[field.name])
            if fault:
                raise ValueError(fault)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a checkpoint's card."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class AttentionConfig(ModelConfig):
    """The configuration of a model with attention.

    Attributes:
        width: D, channels of a position. heads: attention heads.
    """

    width: int
    heads: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.heads >= 1 and self.width % self.width_step:
            raise BadValue("a width of {width} cannot be split into {heads} equal heads", width=self.width, heads=self.heads)

    @property
    def sequence_length(self) -> int | None:
        """T, the positions that attention compares; None where the network takes any number of them."""
        return None

    @property
    def width_step(self) -> int:
        """Number of which the width must be a multiple."""
        return self.heads

    def example_inputs(self, length: int) -> tuple[Tensor, ...]:
        """One sample for `forward`: zeros, or ones for symbols; of `length` positions where the configuration fixes none."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class SymbolsConfig(AttentionConfig):
    """The configuration of a Transformer over symbols.

    Attributes:
        vocabulary: V, symbols. layers: their number. hidden: d_ff. length: longest sequence, in symbols.
    """

    vocabulary: int
    layers: int
    hidden: int
    length: int

    def __post_init__(self) -> None:
        super().__post_init__()
        need_one(self, "vocabulary", "width", "heads", "layers", "hidden", "length")

    def example_inputs(self, length: int) -> tuple[Tensor, ...]:
        """A sequence of `length` symbols."""
        return (torch.zeros(1, length, dtype=torch.long),)


def need_one(config: ModelConfig, *names: str) -> None:
    """Raises ValueError where one of these fields is below 1."""
    if min(getattr(config, name) for name in names) < 1:
        raise BadValue("{names} must each be 1 or more", names=", ".join(names))


def _fault(name: str, value: Any, kind: Any) -> Message | None:
    """Describes the fault in the type of a value, None where there is none."""
    shown = reprlib.repr(value)
    if get_origin(kind) is Literal and value not in get_args(kind):
        choices = ", ".join(map(str, get_args(kind)))
        return compose("{name} is {value}: choose one of {choices}", name=name, value=shown, choices=choices)
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if kind is int and not whole:
        return compose("{name} is {value}: a whole number is needed", name=name, value=shown)
    if kind is float and not (whole or (isinstance(value, Real) and math.isfinite(value))):
        return compose("{name} is {value}: a number is needed", name=name, value=shown)
    if kind is bool and not isinstance(value, bool):
        return compose("{name} is {value}: true or false is needed", name=name, value=shown)
    return None
