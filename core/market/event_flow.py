"""Event flow: size that arrived at and left the best prices between two rows, from the book alone.

After Cont, Kukanov and Stoikov 2014, "The price impact of order book events", section 2.1, with the two signs kept apart. A book
does not tell a cancelled order from a traded one: both leave.
"""

from __future__ import annotations

import numpy as np

from core.market.book import FloatArray


def best_price_flow(windows: FloatArray) -> FloatArray:
    """Size added and removed at the best prices since the row before.

    At an unchanged best price it is the change of the size there. A better price adds the whole new size; a worse one removes the
    whole earlier size. The first row has none before it: 0.

    Args:
        windows: (..., steps, 40), raw rows.

    Returns:
        (..., steps, 4) in the venue's unit, none negative: ask added, bid added, ask removed, bid removed.
    """
    flow = np.zeros((*windows.shape[:-1], 4))
    for side, outward in ((0, 1.0), (1, -1.0)):
        price, size = windows[..., 2 * side] * outward, windows[..., 2 * side + 1]
        move = np.diff(price, axis=-1)  # above 0: the best price got worse
        change = np.where(move < 0, size[..., 1:], np.where(move > 0, -size[..., :-1], np.diff(size, axis=-1)))
        flow[..., 1:, side] = np.maximum(change, 0)
        flow[..., 1:, side + 2] = np.maximum(-change, 0)
    return flow
