"""Light on the attention of any network: what a model read is the stage, and what the chosen token looks at is lit.

    from attention_light import look

    look(outputs.attentions, tokens)          # of transformers; or an array (layers, heads, n, n)
    look(model, inputs, tokens=tokens)        # runs the model once and captures it
    look(vit, image).save("view.html")

Numpy is needed; torch where a model is captured, anywidget where the view shall be a widget.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attention_light.layers import LayerMaps, LayerVectors, SceneError
from attention_light.look import look
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
    "look",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name != "capture":
        raise AttributeError(f"attention_light has no {name!r}")
    return import_module("attention_light.tracing").capture
