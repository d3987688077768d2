"""Queries and keys of an IIGA over the bundled clips that it reads."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.explain.queries_keys import JointSample, collect, queries_and_keys
from core.nn import AttentionMaps
from core.signs import samples
from core.signs.recogniser import Recogniser
from core.signs.video import read_video


def joint_sample(recogniser: Recogniser) -> JointSample:
    """The vectors of every sub-layer; a frame's class is its likeliest label, the blank included."""
    clips: list[tuple[NDArray[Any], str | None]]
    if recogniser.front == "tracks":
        clips = [(one.tracks, one.speaker) for one in samples.track_samples()]
    else:
        films = [one.path.read_bytes() for one in samples.clip_samples()]
        clips = [(read_video(film, size=recogniser.image_size, fps=recogniser.fps).frames, None) for film in films]
    parts = []
    for clip, speaker in clips:
        with torch.no_grad():
            encoded = recogniser.encode(recogniser.inputs(clip, speaker=speaker))
            logits = recogniser.model.attend(encoded)
        vectors = queries_and_keys(recogniser.model, partial(_maps, recogniser, encoded))
        parts.append((vectors, logits.argmax(dim=-1).cpu().numpy().astype(np.int64)))
    return collect(parts, recogniser.vocabulary.names)


def _maps(recogniser: Recogniser, encoded: Tensor) -> AttentionMaps:
    return recogniser.model.attend(encoded, return_attention=True)[1]
