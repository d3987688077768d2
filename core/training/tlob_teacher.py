"""Soft targets for TLOB: the class probabilities that another model, such as trees, gives to training windows it did not see.

Distillation after Hinton, Vinyals and Dean 2015, "Distilling the knowledge in a neural network", at temperature 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.models.tlob import CLASSES

PREFIX = "targets/"
"""Prefix of a market's array in a file of targets."""
Targets = Mapping[str, NDArray[np.floating]]
"""Market name -> (training windows, heads, 3) probabilities, in the order of `MarketData.ends["train"]`."""


def time_folds(ends: NDArray[np.int64], count: int, gap: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """`count` pairs (training rows, rows to predict): contiguous parts of time, predicted by what was learnt from the others.

    Args:
        ends: rows in time order. gap: training rows that end nearer than this to a predicted part are left out, so that neither a
            window nor a label reaches across (D10).
    """
    folds = []
    for part in np.array_split(ends, count):
        away = (ends < part[0] - gap) | (ends > part[-1] + gap)
        folds.append((ends[away], part))
    return folds


def write_targets(path: Path, targets: Targets) -> None:
    """Write the probabilities of each market as half-precision numbers into one .npz file."""
    arrays = {PREFIX + name: probabilities.astype(np.float16) for name, probabilities in targets.items()}
    np.savez_compressed(path, allow_pickle=False, **arrays)


def read_targets(path: Path, shapes: Mapping[str, tuple[int, int]]) -> dict[str, NDArray[np.float16]]:
    """The targets of a file.

    Args:
        shapes: market name -> its training windows and heads.

    Raises:
        ValueError: where a market is missing, has another number of windows or heads, or its rows are no probabilities.
    """
    found = {}
    with np.load(path, allow_pickle=False) as file:
        for name, (windows, heads) in shapes.items():
            if PREFIX + name not in file:
                raise ValueError(f"{path.name} has no targets for {name}: make them from the same files as are trained on")
            p = file[PREFIX + name]
            if p.shape != (windows, heads, len(CLASSES)):
                raise ValueError(
                    f"{path.name} has targets of shape {p.shape} for {name}, whose training windows and heads need "
                    f"{(windows, heads, len(CLASSES))}: make them from the same files, labels and horizons"
                )
            if not (p >= 0).all() or np.abs(p.sum(axis=-1, dtype=np.float32) - 1).max() > 0.01:
                raise ValueError(f"{path.name} has targets for {name} that are no probabilities: three from 0, with sum 1")
            found[name] = p
    return found
