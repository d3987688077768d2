"""Models and what they make of clips, each computed once however many people look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from core import checkpoints
from core.signs import own, reading
from core.signs.reading import Guess, Reading
from core.signs.recogniser import Recogniser, load_recogniser

OWN = "own"
"""Code of a model that the visitor brought."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """A recogniser and the key its answers are kept under."""

    key: str
    recogniser: Recogniser


@dataclass(frozen=True, kw_only=True)
class Clip:
    """What is read.

    Attributes:
        key: names its content. title: for a person. kind: "frames" or "tracks".
        data: (T, S, S, 3) frames or (T, 6) tracks. seconds: (T,). fps: of `data`.
        glosses: what is signed, None where nobody said. speaker: of tracks.
        note: where it comes from, translated.
    """

    key: str
    title: str
    kind: str
    data: Any
    seconds: Any
    fps: float
    glosses: tuple[str, ...] | None = None
    speaker: str | None = None
    note: str = ""


def model_names(front: str) -> list[str]:
    """The shipped checkpoints that read frames, or tracks."""
    folder = checkpoints.FOLDER
    return [name for name in checkpoints.names("iiga", folder=folder) if _front(name) == front]


def _front(name: str) -> str:
    return str(checkpoints.read_card(name, folder=checkpoints.FOLDER)["config"].get("front", "frames"))


def shipped(name: str) -> Model:
    """A checkpoint of the app.

    Raises:
        CheckpointError: where it is missing or damaged.
    """
    found = _loaded(name, str(checkpoints.FOLDER), str(checkpoints.read_card(name, folder=checkpoints.FOLDER)["weights_sha256"]))
    return Model(key=f"{name}:{found.card['weights_sha256']}", recogniser=found)


@st.cache_resource(show_spinner=False, max_entries=4)
def _loaded(name: str, folder: str, digest: str) -> Recogniser:
    return load_recogniser(name, folder=checkpoints.FOLDER)


def brought(card: Any, weights: Any) -> Model:
    """A pair of uploaded files.

    Raises:
        CheckpointError: as `core.signs.own.load_own`.
    """
    found = _own(f"{card.file_id}:{weights.file_id}", card, weights)
    return Model(key=f"{OWN}:{found.card['weights_sha256']}", recogniser=found)


@st.cache_resource(show_spinner=False, max_entries=2)
def _own(files: str, _card: Any, _weights: Any) -> Recogniser:
    return own.load_own(_card.getvalue(), _weights.getvalue())


def read(model: Model, clip: Clip) -> Reading:
    """Probabilities, attention and the best path of a clip."""
    return _read(model.key, clip.key, clip.speaker, model.recogniser, clip)


@st.cache_resource(show_spinner=False, max_entries=16)
def _read(model: str, clip: str, speaker: str | None, _recogniser: Recogniser, _clip: Clip) -> Reading:
    return reading.read(_recogniser, _clip.data, _clip.seconds, speaker=speaker)


def beam(model: Model, clip: Clip, *, width: int, weight: float | None) -> list[Guess]:
    """The likeliest sentences; `weight` is that of the bigram, None without one."""
    return _beam(model.key, clip.key, clip.speaker, width, weight, model, clip)


@st.cache_data(show_spinner=False, max_entries=64)
def _beam(
    model: str, clip: str, speaker: str | None, width: int, weight: float | None, _model: Model, _clip: Clip
) -> list[Guess]:
    found, bigram = read(_model, _clip), _model.recogniser.bigram if weight is not None else None
    return reading.beam(_model.recogniser, found, width=width, bigram=bigram, weight=weight or 0.0)
