"""Attention Observatory as a library, and its installed command.

    from attention_observatory import predict_book

    print(predict_book("book.parquet"))

The first public name to be used imports the models, so that the command starts without them.
"""

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
        SeenPhoto,
        SignReading,
        Words,
        WrittenText,
        attention_view,
        capture,
        classify_photo,
        export_onnx,
        load,
        predict_book,
        read_signs,
        read_words,
        see_photo,
        write_words,
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
    "SeenPhoto",
    "SignReading",
    "Words",
    "WrittenText",
    "attention_view",
    "capture",
    "classify_photo",
    "export_onnx",
    "load",
    "predict_book",
    "read_signs",
    "read_words",
    "see_photo",
    "write_words",
]

__version__ = "0.2.0"

_HERE = Path(__file__).resolve().parent
APP = _HERE if (_HERE / "streamlit_app.py").is_file() else _HERE.parent
"""The folder of the app: in a wheel this package, in the repository its top."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"attention_observatory has no {name!r}")
    return getattr(import_module("attention_observatory.answers"), name)
