"""Importance of each frame for all glosses of a clip by the cheap measures, and the spread of its attention.

Integrated gradients and occlusion run the model once or more per frame, so they are computed for one gloss at a time
(`core.signs.evidence`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from core import npz
from core.explain import summaries
from core.explain.rollout import fuse_heads, rollout
from core.nn import window_mask
from core.signs.decoding import GlossSpan, gloss_spans
from core.signs.evidence import attention_of_glosses, frames_relevance
from core.signs.recogniser import Recogniser
from core.signs.recognition import Recognition

ROLLOUT: Final = "rollout"
RELEVANCE: Final = "relevance"
ASKED: Final = ("gradients", "occlusion")
"""The measures that run the model for every frame."""
MAX_FRAMES: Final = 200
"""Longest clip for those, frames of the model: 200 take about five seconds per gloss, and the time grows with the square."""
MIN_SHARE: Final = 0.2
"""A frame counts among the strongest from this share of the largest importance on."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Mean entropy (nats) and mean distance (seconds) of a sub-layer's attention, each beside that of uniform weights."""

    entropy: float
    even_entropy: float
    distance: float
    even_distance: float


@dataclass(frozen=True, kw_only=True, eq=False)
class ClipMeasures:
    """The cheap measures of a clip. The arrays are shared and read-only.

    Attributes:
        glosses: of the best path, in order. rolled: (T', T') rollout through all attentions.
        rows: measure -> (glosses, T'): of each sub-layer, by its name, and of the rollout, the mean row of the gloss's frames;
            of gradient relevance that of its peak.
        spreads: of each sub-layer, by its name.
    """

    glosses: tuple[GlossSpan, ...]
    rolled: NDArray[np.float64]
    rows: dict[str, NDArray[np.float64]]
    spreads: dict[str, Spread]


def measure_clip(
    recogniser: Recogniser, recognition: Recognition, clip: NDArray[Any], *, speaker: str | None = None
) -> ClipMeasures:
    """The measures that take one forward pass, and one backward pass per gloss.

    Args:
        recognition: result of `Recogniser.answer` for this clip. clip, speaker: as given to it.
    """
    glosses = gloss_spans(recogniser.confident(recognition.log_probabilities))
    maps = {name: fuse_heads(weights) for name, weights in recognition.attention.items()}
    rolled = rollout(list(maps.values()))
    rows = {name: attention_of_glosses(one, glosses) for name, one in [*maps.items(), (ROLLOUT, rolled)]}
    rows[RELEVANCE] = np.zeros((0, len(recognition.seconds)))
    if glosses:
        with torch.no_grad():
            encoded = recogniser.encode(recogniser.inputs(clip, speaker=speaker))
        rows[RELEVANCE] = np.stack([frames_relevance(recogniser, encoded, frame=one.peak, label=one.label) for one in glosses])
    spreads = attention_spreads(recognition, window=recogniser.config.window)
    return ClipMeasures(glosses=tuple(glosses), rolled=rolled, rows=rows, spreads=spreads)


def attention_spreads(recognition: Recognition, *, window: int) -> dict[str, Spread]:
    """The spread of each sub-layer; an intra-gloss one is compared with uniform weights over its window.

    Args:
        window: frames to either side that intra-gloss attention sees.
    """
    steps = len(recognition.seconds)
    step = float(recognition.seconds[1] - recognition.seconds[0]) if steps > 1 else 1.0
    by_name = {}
    for name, weights in recognition.attention.items():
        seen = window_mask(steps, window if name.startswith("intra") else steps).numpy()
        even = seen / seen.sum(axis=1, keepdims=True)
        by_name[name] = Spread(
            entropy=summaries.mean_entropy(weights),
            even_entropy=summaries.mean_entropy(even),
            distance=summaries.mean_distance(weights, step=step),
            even_distance=summaries.mean_distance(even, step=step),
        )
    return by_name


@dataclass(frozen=True, kw_only=True)
class StrongestFrames:
    """The frames of highest importance for one gloss.

    Attributes:
        frames: strongest first. inside: how many of them lie in the gloss's run.
        largest: importance of the first, 0 without one. total: sum over all frames of the clip.
    """

    frames: tuple[int, ...]
    inside: int
    largest: float
    total: float


def strongest_frames(row: NDArray[np.floating], gloss: GlossSpan, *, most: int = 6) -> StrongestFrames:
    """Up to `most` frames of a row (T',) with positive importance of `MIN_SHARE` of the largest or more."""
    strongest = summaries.strongest(row, most)
    largest = max(strongest[0][1], 0.0) if strongest else 0.0
    frames = tuple(frame for frame, value in strongest if value > 0 and value >= MIN_SHARE * largest)
    return StrongestFrames(
        frames=frames,
        inside=sum(gloss.first <= frame <= gloss.last for frame in frames),
        largest=largest,
        total=float(np.asarray(row, dtype=np.float64).sum()),
    )


def one_row(row: NDArray[np.floating], chosen: int, count: int) -> NDArray[np.float64]:
    """(T',) of one gloss -> (glosses, T'), the other rows NaN."""
    rows = np.full((count, len(row)), np.nan)
    rows[chosen] = row
    return rows


def to_npz(
    recognition: Recognition,
    measures: ClipMeasures,
    names: tuple[str, ...],
    importance: Mapping[str, NDArray[np.floating]],
    chosen: int | None,
) -> bytes:
    """All arrays as the bytes of an .npz file, without pickles.

    Args:
        names: of the vocabulary's labels. importance: method -> (T',) of the chosen gloss.
        chosen: that gloss's index, None without one.
    """
    spans = [(one.label, one.first, one.last, one.peak) for one in measures.glosses]
    arrays: dict[str, Any] = {
        **recognition.attention,
        ROLLOUT: measures.rolled,
        **{f"glosses: {measure}": rows for measure, rows in measures.rows.items()},
        **{f"importance: {method}": row for method, row in importance.items()},
        "probabilities": recognition.probabilities,
        "seconds": recognition.seconds,
        "names": np.array(names),
        "spoken": np.array(spans, dtype=np.int64).reshape(-1, 4),
        "chosen": np.array(-1 if chosen is None else chosen),
    }
    return npz.to_bytes(arrays)
