"""Boxes of the things in a photograph, by what stands out and by which patches are alike: where a small garment may be.

Salience is cut at two shares of its largest, as what is worn stands out less than whoever wears it; and the patches' tokens are
parted into groups, as what lies on a busy ground may not stand out at all. Each connected piece is a box.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.vision.garments import Edges, pieces
from core.vision.sight import PATCH, SeenPicture

CUTS: Final = (0.5, 0.7)
"""Shares of the largest salience."""
CELL: Final = 4
"""Pixels along a side of the cells in which pieces of it are looked for."""
LEAST_CELLS, LEAST_PATCHES = 12, 3
"""Cells and patches that a piece has at least."""
GROUPS: Final = 7
ROUNDS: Final = 8
"""Of k-means."""
PIECES: Final = 6
"""Largest pieces of a cut or a group that are boxes."""
SMALLEST, LARGEST = 0.01, 0.25
"""Shares of the picture that a box covers. All were chosen on 60 made scenes and the 341 validation photographs."""


def boxes(seen: SeenPicture) -> list[Edges]:
    """Boxes of things that are small in the picture, percent of its width and height."""
    side = len(seen.salience)
    fine = seen.salience.reshape(side // CELL, CELL, side // CELL, CELL).mean(axis=(1, 3))
    fine = np.where(seen.of_picture(CELL), fine, 0.0)
    groups = alike(seen.tokens[1:], seen.of_picture().ravel()).reshape(seen.grid)
    masks = [(fine > cut * fine.max(), LEAST_CELLS, CELL, 2) for cut in CUTS]
    masks += [(groups == group, LEAST_PATCHES, PATCH, 1) for group in range(GROUPS)]
    found = {
        _edges(box, scale, margin, seen.inside)
        for mask, least, scale, margin in masks
        for box, area in pieces(mask, PIECES)
        if area >= least
    }
    return sorted(one for one in found if SMALLEST <= (one[2] - one[0]) * (one[3] - one[1]) / 10_000 <= LARGEST)


def alike(tokens: NDArray[np.float32], inside: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The group of each token (n, width), -1 of those that are not `inside`: k-means by cosine, begun at tokens far apart."""
    unit = tokens[inside] / np.linalg.norm(tokens[inside], axis=1, keepdims=True)
    first = int((unit @ unit.mean(axis=0)).argmin())
    starts, near = [first], unit @ unit[first]
    while len(starts) < min(GROUPS, len(unit)):
        starts.append(int(near.argmin()))
        near = np.maximum(near, unit @ unit[starts[-1]])
    middles = unit[starts]
    for _ in range(ROUNDS):
        groups = (unit @ middles.T).argmax(axis=1)
        means = [unit[groups == i].mean(axis=0) if (groups == i).any() else middles[i] for i in range(len(middles))]
        middles = np.stack(means)
        middles /= np.linalg.norm(middles, axis=1, keepdims=True)
    found = np.full(len(tokens), -1)
    found[inside] = groups
    return found


def _edges(box: Edges, scale: int, margin: int, inside: Edges) -> Edges:
    """A box of cells in percent of the picture, with a margin of so many percent."""
    left, top, right, bottom = inside
    a, b, c, d = (
        100 * (scale * at - start) / size
        for at, start, size in zip(box, (left, top, left, top), (right - left, bottom - top) * 2, strict=True)
    )
    wide = (int(a) - margin, int(b) - margin, math.ceil(c) + margin, math.ceil(d) + margin)
    x, y, z, w = (min(max(one, 0), 100) for one in wide)
    return x, y, z, w
