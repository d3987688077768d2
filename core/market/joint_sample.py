"""Queries and keys of a TLOB over windows of the bundled recordings."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
from torch import Tensor

from core.explain.queries_keys import JointSample, collect, queries_and_keys
from core.market.book import read_market
from core.market.predictor import Predictor, windows_of
from core.market.store.index import recordings
from core.market.windows import window_ends
from core.models.tlob import CLASSES
from core.nn import AttentionMaps

WINDOWS: Final = 8
"""Windows of each recording, evenly spaced."""


def joint_sample(predictor: Predictor, *, head: int = 0, windows: int = WINDOWS) -> JointSample:
    """The vectors of every layer; a window's class is what `head` calls it."""
    parts = []
    for one in recordings():
        rows = read_market([one.path])
        entry = predictor.market(one.name)
        ends = window_ends(rows.timestamps, predictor.window)
        ends = ends[np.unique(np.linspace(0, len(ends) - 1, windows).round().astype(int))]
        levels = windows_of(rows.levels, ends, predictor.window)
        inputs = predictor.inputs(levels, entry)
        vectors = queries_and_keys(predictor.model, partial(_maps, predictor, inputs))
        parts.append((vectors, predictor.predict(levels, entry).calls[:, head].astype(np.int64)))
    return collect(parts, CLASSES)


def _maps(predictor: Predictor, inputs: Tensor) -> AttentionMaps:
    maps: AttentionMaps = predictor.model(inputs, return_attention=True)[1]
    return maps
