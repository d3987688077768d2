"""The models, one file each, and `MODELS`, which finds them by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

    from core.models.config import ModelConfig

    Entry = tuple[type[nn.Module], type[ModelConfig]]


class ModelRegistry(Mapping[str, "Entry"]):
    """Model class and configuration class by the model's name in cards; a model's file is imported at first use."""

    def __init__(self, places: Mapping[str, tuple[str, str, str, str]]) -> None:
        self._places = dict(places)

    def __getitem__(self, name: str) -> Entry:
        file, model, config, _ = self._places[name]
        module = import_module(f"{__name__}.{file}")
        return getattr(module, model), getattr(module, config)

    def input_of(self, name: str) -> str:
        """The kind of input of the model of this name: "book", "picture", "clip", "text"; "" for a name that is none."""
        return self._places[name][3] if name in self._places else ""

    def reading(self, kind: str) -> tuple[str, ...]:
        """Names of the models that read this kind of input."""
        return tuple(name for name, place in self._places.items() if place[3] == kind)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


MODELS = ModelRegistry(
    {
        "tlob": ("tlob", "TLOB", "TLOBConfig", "book"),
        "vit": ("vit", "ViT", "ViTConfig", "picture"),
        "cct": ("cct", "CCT", "CCTConfig", "picture"),
        "iiga": ("iiga", "IIGA", "IIGAConfig", "clip"),
        "transformer": ("transformer", "Transformer", "TransformerConfig", "text"),
        "dinov2": ("dinov2", "DINOv2", "DINOv2Config", "photograph"),
        "minilm": ("minilm", "MiniLM", "MiniLMConfig", "words"),
        "smollm2": ("smollm2", "SmolLM2", "SmolLM2Config", "text so far"),
    }
)
"""`MODELS["tlob"]` is `(TLOB, TLOBConfig)`; the last word says what a model reads."""
