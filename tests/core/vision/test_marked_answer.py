"""Where the patch that counts most lies on the picture, against cells cut out of an array of places."""

from __future__ import annotations

import numpy as np
import pytest

from core.vision.marked_answer import patch_edges


@pytest.mark.parametrize("box", [(0, 0, 96, 64), (16, 8, 80, 40), (40, 0, 56, 64)])
def test_a_patch_is_marked_where_its_pixels_came_from(box: tuple[int, int, int, int]) -> None:
    """Every pixel holds its own place; the box is cut out, padded to a square, and cut into patches."""
    width, height, grid = 96, 64, 8
    places = np.stack(np.meshgrid(np.arange(width), np.arange(height)), axis=-1)
    left, top, right, bottom = box
    read = places[top:bottom, left:right]
    side = max(read.shape[:2])
    above, before = (side - read.shape[0]) // 2, (side - read.shape[1]) // 2
    around = ((above, side - read.shape[0] - above), (before, side - read.shape[1] - before), (0, 0))
    square, cell = np.pad(read, around, constant_values=-1), side // grid
    for patch in range(grid**2):
        row, column = divmod(patch, grid)
        seen = square[row * cell : (row + 1) * cell, column * cell : (column + 1) * cell].reshape(-1, 2)
        seen = seen[seen[:, 0] >= 0]
        edges = patch_edges(patch, grid, box, (width, height))
        if not len(seen):
            assert edges[0] == edges[2] or edges[1] == edges[3], "a patch of padding alone has no room on the picture"
            continue
        first, last = seen.min(axis=0), seen.max(axis=0) + 1
        expected = (*(100 * first / (width, height)), *(100 * last / (width, height)))
        assert edges == pytest.approx(expected, abs=0.01)
