"""Scoring beside the app as a visitor may do it: everyone sees the run, the table says who acts on it."""

from __future__ import annotations

from typing import Final

from core.runs.scoring import Scorer
from core.service.access import Action, Visitor


class GuardedScorer:
    """The process's scoring; `run` is for reading alone."""

    def __init__(self) -> None:
        self.run = Scorer()

    def opened(self, by: Visitor) -> Scorer:
        """The run, to act on.

        Raises:
            NotAllowed: where the visitor may not.
        """
        by.require(Action.SCORE)
        return self.run


SCORING: Final = GuardedScorer()
