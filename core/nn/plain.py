"""One switch for all that predictions compute in another order than training does."""

from __future__ import annotations

import os
from typing import Final

SWITCH: Final = "OBSERVATORY_PLAIN_MODELS"
"""Environment variable: with any value, predictions run through the networks as they are trained."""


def computes_plainly() -> bool:
    """Tells whether the switch is set."""
    return bool(os.environ.get(SWITCH))
