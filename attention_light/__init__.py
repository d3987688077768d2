"""Light on the attention of any network: what a model read is the stage, and what the chosen token looks at is lit.

    from attention_light import AttentionScene, LayerMaps, WordStage, capture

    with capture(model) as layers:
        model(x)
    AttentionScene(stage=WordStage(words=words), layers=layers).save("view.html")

Numpy is needed; torch where `capture` is used, which imports it then.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attention_light.layers import LayerMaps, LayerVectors, SceneError
from attention_light.scene import AttentionScene
from attention_light.stages import BookStage, FilmStage, GridStage, PictureStage, WordStage

if TYPE_CHECKING:
    from attention_light.tracing import capture

__all__ = [
    "AttentionScene",
    "BookStage",
    "FilmStage",
    "GridStage",
    "LayerMaps",
    "LayerVectors",
    "PictureStage",
    "SceneError",
    "WordStage",
    "capture",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name != "capture":
        raise AttributeError(f"attention_light has no {name!r}")
    return import_module("attention_light.tracing").capture
