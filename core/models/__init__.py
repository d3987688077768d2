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

    def __init__(self, places: Mapping[str, tuple[str, str, str]]) -> None:
        self._places = dict(places)

    def __getitem__(self, name: str) -> Entry:
        file, model, config = self._places[name]
        module = import_module(f"{__name__}.{file}")
        return getattr(module, model), getattr(module, config)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


MODELS = ModelRegistry({
    "tlob": ("tlob", "TLOB", "TLOBConfig"),
    "deeplob": ("deeplob", "DeepLOB", "DeepLOBConfig"),
    "vit": ("vit", "ViT", "ViTConfig"),
    "cct": ("cct", "CCT", "CCTConfig"),
    "cct_28": ("cct_28", "CCT28", "CCT28Config"),
    "iiga": ("iiga", "IIGA", "IIGAConfig"),
    "transformer": ("transformer", "Transformer", "TransformerConfig"),
    "decoder-only": ("decoder_only", "DecoderOnly", "DecoderOnlyConfig"),
    "garment-teacher": ("garment_teacher", "GarmentTeacher", "TeacherConfig"),
})  # fmt: skip
"""`MODELS["tlob"]` is `(TLOB, TLOBConfig)`."""
