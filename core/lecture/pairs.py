"""Accuracy by TLOB's number of pairs: the document's numbers, and those of small networks trained here.

Source: tlob-architecture sections 1.2 and 7.3, which name neither data, label, horizon, seeds nor spread. Here: the five bundled
recordings, windows of 24 rows, 400 steps of 32 windows, the label smoothed at 10 steps (D8); `core/training/tlob_pairs.py` of
commit ac9d2479 trained them.
"""

from __future__ import annotations

from typing import Final

CLAIMED: Final = {1: 0.692, 2: 0.705, 3: 0.710, 4: 0.712, 5: 0.711, 8: 0.710, 12: 0.705}
"""The document's: 1 to 5 pairs in section 1.2, 4 again with 8 and 12 in section 7.3."""
MEASURED: Final = {1: (0.6945, 0.6908), 2: (0.6884, 0.6899), 3: (0.7037,), 4: (0.6975,), 5: (0.7,)}
"""On the test parts, mean over recordings, one number a seed."""
WINDOWS: Final = 3819
"""Of all test parts."""
MOMENTUM: Final = 0.7157
"""Accuracy of the momentum rule on the same windows."""
