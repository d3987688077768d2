"""What all glosses of a clip rest on, by every measure that costs next to nothing, and how spread its attention is.

Integrated gradients and occlusion ask the model again for every frame, so they are computed for one gloss at a time
(`core.signs.evidence`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from core import npz
from core.explain import summaries
from core.explain.rollout import fuse_heads, rollout
from core.nn import window_mask
from core.signs.evidence import Spoken, behind, frames_relevance, spoken
from core.signs.recogniser import Recogniser
from core.signs.recognition import Recognition

ROLLOUT: Final = "rollout"
RELEVANCE: Final = "relevance"
ASKED: Final = ("gradients", "occlusion")
"""The measures that have to ask the model again and again."""
MOST_FRAMES: Final = 200
"""Up to so many frames of the model those are computed: 200 take about five seconds a gloss, and it grows with the square."""
MATTERS: Final = 0.2
"""Share of the strongest frame's importance from which on another one counts too."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How spread a sub-layer's attention is (nats), how far it reaches (seconds), and what looking at all alike would give."""

    entropy: float
    even_entropy: float
    distance: float
    even_distance: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Looks:
    """What a clip's glosses rest on. Nobody writes to the arrays: they are shared.

    Attributes:
        glosses: of the best path, in order. rolled: (T', T') rollout through all attentions.
        rows: measure -> (glosses, T'): of each sub-layer, by its name, the mean attention of the frames that call a gloss;
            of the rollout likewise; of gradient relevance that of its surest frame.
        spreads: of each sub-layer, by its name.
    """

    glosses: tuple[Spoken, ...]
    rolled: NDArray[np.float64]
    rows: dict[str, NDArray[np.float64]]
    spreads: dict[str, Spread]


def looks(recogniser: Recogniser, found: Recognition, clip: NDArray[Any], *, speaker: str | None = None) -> Looks:
    """Everything that needs no more than a forward pass, and a backward one a gloss.

    Args:
        found: what `core.signs.recognition.read` made of the clip. clip, speaker: as it took them.
    """
    glosses = spoken(found.log_probabilities)
    maps = {name: fuse_heads(weights) for name, weights in found.attention.items()}
    rolled = rollout(list(maps.values()))
    rows = {name: behind(one, glosses) for name, one in [*maps.items(), (ROLLOUT, rolled)]}
    rows[RELEVANCE] = np.zeros((0, len(found.seconds)))
    if glosses:
        with torch.no_grad():
            encoded = recogniser.encode(recogniser.inputs(clip, speaker=speaker))
        rows[RELEVANCE] = np.stack([frames_relevance(recogniser, encoded, frame=one.peak, label=one.label) for one in glosses])
    return Looks(glosses=tuple(glosses), rolled=rolled, rows=rows, spreads=spreads(found, window=recogniser.config.window))


def spreads(found: Recognition, *, window: int) -> dict[str, Spread]:
    """Of each sub-layer; an intra-gloss one is measured against looking at all of its window alike.

    Args:
        window: frames to either side that intra-gloss attention sees.
    """
    steps = len(found.seconds)
    step = float(found.seconds[1] - found.seconds[0]) if steps > 1 else 1.0
    told = {}
    for name, weights in found.attention.items():
        seen = window_mask(steps, window if name.startswith("intra") else steps).numpy()
        even = seen / seen.sum(axis=1, keepdims=True)
        told[name] = Spread(
            entropy=summaries.mean_entropy(weights),
            even_entropy=summaries.mean_entropy(even),
            distance=summaries.mean_distance(weights, step=step),
            even_distance=summaries.mean_distance(even, step=step),
        )
    return told


@dataclass(frozen=True, kw_only=True)
class CountedGlosses:
    """The frames that count most for one gloss.

    Attributes:
        frames: strongest first. inside: how many of them lie in the gloss's own run.
        largest: importance of the first, 0 where there is none. total: of all frames together.
    """

    frames: tuple[int, ...]
    inside: int
    largest: float
    total: float


def counted(row: NDArray[np.floating], gloss: Spoken, *, most: int = 6) -> CountedGlosses:
    """Which frames of a row (T',) count: up to `most` that speak for the gloss, none far weaker than the strongest."""
    strongest = summaries.strongest(row, most)
    largest = max(strongest[0][1], 0.0) if strongest else 0.0
    frames = tuple(frame for frame, value in strongest if value > 0 and value >= MATTERS * largest)
    return CountedGlosses(
        frames=frames,
        inside=sum(gloss.first <= frame <= gloss.last for frame in frames),
        largest=largest,
        total=float(np.asarray(row, dtype=np.float64).sum()),
    )


def one_row(row: NDArray[np.floating], chosen: int, count: int) -> NDArray[np.float64]:
    """(T',) of one gloss -> (glosses, T'), the others' rows unknown (NaN)."""
    rows = np.full((count, len(row)), np.nan)
    rows[chosen] = row
    return rows


def all_rows(rows: Sequence[NDArray[np.floating]]) -> NDArray[np.float64]:
    """(T',) a gloss -> (glosses, T')."""
    return np.stack([np.asarray(row, dtype=np.float64) for row in rows])


def to_npz(
    found: Recognition, looked: Looks, names: tuple[str, ...], importance: Mapping[str, NDArray[np.floating]], chosen: int | None
) -> bytes:
    """All arrays as the bytes of an .npz file; it holds no pickles.

    Args:
        names: of the vocabulary's labels. importance: method -> (T',) of the chosen gloss. chosen: its place, None without one.
    """
    spans = [(one.label, one.first, one.last, one.peak) for one in looked.glosses]
    arrays: dict[str, Any] = {
        **found.attention,
        ROLLOUT: looked.rolled,
        **{f"glosses: {measure}": rows for measure, rows in looked.rows.items()},
        **{f"importance: {method}": row for method, row in importance.items()},
        "probabilities": found.probabilities,
        "seconds": found.seconds,
        "names": np.array(names),
        "spoken": np.array(spans, dtype=np.int64).reshape(-1, 4),
        "chosen": np.array(-1 if chosen is None else chosen),
    }
    return npz.to_bytes(arrays)
