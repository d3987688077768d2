"""Measures of the bundled clips, kept in a file so that a page that opens with one is lit at once.

`python -m core faithful` writes it with the curves of their models; to compute them takes a pass of the model for each frame,
some seconds a clip.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from core.explain import faithfulness
from core.signs.evidence import bundled_clips, explain_frame
from core.signs.recogniser import Recogniser

FILE: Final = Path(__file__).parents[2] / "assets" / "explain" / "bundled_clips.safetensors"
SENTENCES: Final = ("7",)
"""Of RWTH-BOSTON-104, those that a page offers to press."""


def clips(recogniser: Recogniser) -> dict[str, tuple[NDArray[Any], str | None]]:
    """The clips whose measures are kept for a model."""
    every = bundled_clips(recogniser)
    return {name: every[name] for name in (SENTENCES if recogniser.front == "tracks" else every)}


def measured(recogniser: Recogniser, clip: NDArray[Any], speaker: str | None, method: str) -> NDArray[np.float16]:
    """(glosses, T'): how much each frame of the model counts for each gloss that is read of a clip."""
    glosses = recogniser.answer(clip, speaker=speaker, attention=False).glosses
    rows = [
        explain_frame(recogniser, clip, frame=one.peak, label=one.label, speaker=speaker).importance[method] for one in glosses
    ]
    return np.array(rows, np.float16)


def write(recognisers: list[Recogniser], file: Path = FILE) -> None:
    """Compute the measure that passed each model's deletion test, for all its clips, and keep them in float16."""
    tensors, made_by = {}, {}
    for one in recognisers:
        finding = faithfulness.read(one.name)
        if finding is not None:
            made_by[one.name] = json.dumps([one.fingerprint, finding.best])
            for name, (clip, speaker) in clips(one).items():
                tensors[f"{one.name}/{name}"] = measured(one, clip, speaker, finding.best)
    save_file(tensors, file, metadata=made_by)


@cache
def _read(file: Path) -> tuple[dict[str, NDArray[np.float64]], dict[str, str]]:
    if not file.exists():
        return {}, {}
    with safe_open(file, "np") as kept:
        made_by = kept.metadata()
    return {name: values.astype(np.float64) for name, values in load_file(file).items()}, made_by


def find(recogniser: Recogniser, name: str, method: str, *, file: Path = FILE) -> NDArray[np.float64] | None:
    """(glosses, T') of a bundled clip; None where there is none of this very checkpoint by this method."""
    tensors, made_by = _read(file)
    if made_by.get(recogniser.name) != json.dumps([recogniser.fingerprint, method]):
        return None
    return tensors.get(f"{recogniser.name}/{name}")
