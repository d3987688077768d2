"""Results of a recogniser for a clip, kept for everyone who opens the same clip."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import streamlit as st

from core import checkpoints
from core.explain import faithfulness
from core.explain.faithfulness import Curves, Evidence
from core.figures import strip as strips
from core.figures.signs import TRAIL
from core.signs import evidence as evidences
from core.signs import gloss_measures, video
from core.signs.gloss_measures import ClipMeasures
from core.signs.hands import model_files
from core.signs.recogniser import HANDS, Recogniser, load_recogniser
from core.signs.recognition import Guess, Recognition
from pages.shared.kept_results import Hashes, kept

MAX_GUESSES: Final = 5


@dataclass(frozen=True, kw_only=True)
class Clip:
    """A clip as a model takes it.

    Attributes:
        key: hash or name of its content. title: shown to people. kind: "frames" or "tracks".
        data: (T, S, S, 3) frames or (T, 6) tracks. seconds: (T,). fps: of `data`.
        glosses: what is signed, None where nobody said. speaker: of tracks. note: its origin, translated.
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


HASHES: Final[Hashes] = {
    Recogniser: lambda recogniser: recogniser.fingerprint,
    Clip: lambda clip: (clip.key, clip.speaker),
}
"""Keys that tell two arguments apart: a recogniser by its card, a clip by its key."""


def model_names(front: str, *, own_film: bool = False) -> list[str]:
    """The shipped checkpoints that read frames, or tracks; the one on landmarks first for a visitor's film, where it can run."""
    folder = checkpoints.FOLDER
    names = [name for name in checkpoints.names("iiga", folder=folder) if _front(name) == front]
    if own_film and HANDS in names and model_files.available():
        names.sort(key=lambda name: name != HANDS)
    return names


def _front(name: str) -> str:
    card = checkpoints.read_card(name, folder=checkpoints.FOLDER)
    return "frames" if "landmarks" in card else str(card["config"].get("front", "frames"))  # landmarks are found in frames


def shipped(name: str) -> Recogniser:
    """A checkpoint of the app, loaded again where its card has changed.

    Raises:
        CheckpointError: where it is missing or damaged.
    """
    path = checkpoints.FOLDER / f"{name}.json"
    return _loaded(name, checkpoints.FOLDER, checkpoints.sha256(path) if path.exists() else "")


@st.cache_resource(show_spinner=False, max_entries=4)
def _loaded(name: str, folder: Path, _digest: str) -> Recogniser:
    return load_recogniser(name, folder=folder)


@kept(16, HASHES)
def read(recogniser: Recogniser, clip: Clip) -> Recognition:
    """Probabilities, attention and the best path of a clip."""
    return recogniser.answer(clip.data, clip.seconds, speaker=clip.speaker)


@kept(64, HASHES)
def beam(recogniser: Recogniser, clip: Clip, *, width: int, power: float) -> list[Guess]:
    """The likeliest sentences by beam search over the frames' probabilities to a power."""
    return recogniser.beam(read(recogniser, clip).log_probabilities, width=width, power=power)[:MAX_GUESSES]


@kept(16, HASHES)
def measures(recogniser: Recogniser, clip: Clip) -> ClipMeasures:
    """The importance of each frame for each gloss by the measures that cost little."""
    return gloss_measures.measure_clip(recogniser, read(recogniser, clip), clip.data, speaker=clip.speaker)


@kept(128, HASHES)
def evidence(recogniser: Recogniser, clip: Clip, *, frame: int, label: int) -> Evidence:
    """Importance of each frame for one label at one frame, by every method; about a second for a clip of 80 frames."""
    return evidences.evidence(recogniser, clip.data, frame=frame, label=label, speaker=clip.speaker)


@kept(64, HASHES)
def curves(recogniser: Recogniser, clip: Clip, *, frame: int, label: int) -> Curves:
    """Deletion curves of the same."""
    return faithfulness.deletion_curves(evidence(recogniser, clip, frame=frame, label=label))


@kept(32, HASHES)
def strip(clip: Clip, most: int) -> list[tuple[int, bytes]]:
    """Small pictures evenly over the clip: its frames, or the path of the tracked hands."""
    if clip.kind == "tracks":
        return strips.hands_strip(clip.data, most)
    indices = strips.even_indices(len(clip.data), most)
    return list(zip(indices, video.sheet(clip.data, indices), strict=True))


@kept(8, HASHES)
def film_pictures(clip: Clip) -> list[bytes]:
    """Every frame of a film as a JPEG."""
    return video.sheet(clip.data, range(len(clip.data)))


def picture(clip: Clip, index: int) -> bytes:
    """One frame of the clip as a picture, or the tracked hands there with their recent path."""
    if clip.kind == "tracks":
        return strips.hands_picture(clip.data, max(0, index - TRAIL), index)
    return video.sheet(clip.data, [index])[0]
