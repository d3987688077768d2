"""Models, what they make of clips and what they looked at, each computed once however many people look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from core import checkpoints
from core.device import serve_small_inputs
from core.explain import faithfulness
from core.explain.faithfulness import Curves, Evidence
from core.figures import strip as strips
from core.figures.signs import TRAIL
from core.signs import evidence as evidences
from core.signs import gloss_measures as lookings
from core.signs import recognition, uploaded_weights, video
from core.signs.gloss_measures import Looks
from core.signs.recogniser import Recogniser, load_recogniser
from core.signs.recognition import Guess, Recognition

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
        CheckpointError: as `core.signs.uploaded_weights.load_own`.
    """
    found = _own(f"{card.file_id}:{weights.file_id}", card, weights)
    return Model(key=f"{OWN}:{found.card['weights_sha256']}", recogniser=found)


@st.cache_resource(show_spinner=False, max_entries=2)
def _own(files: str, _card: Any, _weights: Any) -> Recogniser:
    return uploaded_weights.load_own(_card.getvalue(), _weights.getvalue())


def read(model: Model, clip: Clip) -> Recognition:
    """Probabilities, attention and the best path of a clip."""
    return _read(model.key, clip.key, clip.speaker, model.recogniser, clip)


@st.cache_resource(show_spinner=False, max_entries=16)
def _read(model: str, clip: str, speaker: str | None, _recogniser: Recogniser, _clip: Clip) -> Recognition:
    return recognition.read(_recogniser, _clip.data, _clip.seconds, speaker=speaker)


def beam(model: Model, clip: Clip, *, width: int, weight: float | None) -> list[Guess]:
    """The likeliest sentences; `weight` is that of the bigram, None without one."""
    return _beam(model.key, clip.key, clip.speaker, width, weight, model, clip)


@st.cache_data(show_spinner=False, max_entries=64)
def _beam(
    model: str, clip: str, speaker: str | None, width: int, weight: float | None, _model: Model, _clip: Clip
) -> list[Guess]:
    found, bigram = read(_model, _clip), _model.recogniser.bigram if weight is not None else None
    return recognition.beam(_model.recogniser, found, width=width, bigram=bigram, weight=weight or 0.0)


def looks(model: Model, clip: Clip) -> Looks:
    """What each gloss rests on, by the measures that cost little."""
    return _looks(model.key, clip.key, clip.speaker, model, clip)


@st.cache_resource(show_spinner=False, max_entries=16)
def _looks(model: str, clip: str, speaker: str | None, _model: Model, _clip: Clip) -> Looks:
    serve_small_inputs()
    return lookings.looks(_model.recogniser, read(_model, _clip), _clip.data, speaker=speaker)


def evidence(model: Model, clip: Clip, *, frame: int, label: int) -> Evidence:
    """All methods' view of why one of the model's frames says one label; about a second for a clip of 80 frames."""
    return _evidence(model.key, clip.key, clip.speaker, frame, label, model, clip)


@st.cache_resource(show_spinner=False, max_entries=128)
def _evidence(model: str, clip: str, speaker: str | None, frame: int, label: int, _model: Model, _clip: Clip) -> Evidence:
    serve_small_inputs()
    return evidences.evidence(_model.recogniser, _clip.data, frame=frame, label=label, speaker=speaker)


def curves(model: Model, clip: Clip, *, frame: int, label: int) -> Curves:
    """Deletion curves of the same."""
    return _curves(model.key, clip.key, clip.speaker, frame, label, model, clip)


@st.cache_resource(show_spinner=False, max_entries=64)
def _curves(model: str, clip: str, speaker: str | None, frame: int, label: int, _model: Model, _clip: Clip) -> Curves:
    return faithfulness.deletion_curves(evidence(_model, _clip, frame=frame, label=label))


def strip(clip: Clip, most: int) -> list[tuple[int, bytes]]:
    """Small pictures evenly over the clip: its frames, or the way that the tracked hands went."""
    return _strip(clip.key, most, clip)


@st.cache_resource(show_spinner=False, max_entries=32)
def _strip(clip: str, most: int, _clip: Clip) -> list[tuple[int, bytes]]:
    if _clip.kind == "tracks":
        return strips.hands_strip(_clip.data, most)
    indices = strips.even_indices(len(_clip.data), most)
    return list(zip(indices, video.sheet(_clip.data, indices), strict=True))


def picture(clip: Clip, index: int) -> bytes:
    """One of the clip's frames as a picture, or the tracked hands there with the way they came."""
    if clip.kind == "tracks":
        return strips.hands_picture(clip.data, max(0, index - TRAIL), index)
    return video.sheet(clip.data, [index])[0]
