"""Attention Observatory as a library, and its installed command.

`from attention_observatory import predict_book, classify_photo, read_signs, read_words, capture, AttentionScene, attention_view,
load`. The first of these names to be used imports
the models, so that the command starts without them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attention_observatory.answers import (
        AttentionScene,
        Book,
        BookPrediction,
        Film,
        Grid,
        Layer,
        PhotoAnswer,
        Picture,
        ReadSentence,
        SignReading,
        Words,
        attention_view,
        capture,
        classify_photo,
        load,
        predict_book,
        read_signs,
        read_words,
    )

__all__ = [
    "AttentionScene",
    "Book",
    "BookPrediction",
    "Film",
    "Grid",
    "Layer",
    "PhotoAnswer",
    "Picture",
    "ReadSentence",
    "SignReading",
    "Words",
    "attention_view",
    "capture",
    "classify_photo",
    "load",
    "predict_book",
    "read_signs",
    "read_words",
]

_PACKAGED = Path(__file__).resolve().parent / "app"
APP = _PACKAGED if _PACKAGED.is_dir() else Path(__file__).resolve().parents[1]
"""The app's folders: in a wheel below this package."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"attention_observatory has no {name!r}")
    if str(APP) not in sys.path:
        sys.path.insert(0, str(APP))
    return getattr(import_module("attention_observatory.answers"), name)
