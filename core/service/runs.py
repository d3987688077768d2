"""Scoring beside the app as a visitor may do it: everyone sees the run, the table says who acts on it."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

from core.runs.local_run import LocalRun
from core.runs.scoring import Scorer
from core.service.access import Action, Visitor

R = TypeVar("R", bound=LocalRun[Any])


class GuardedRun(Generic[R]):
    """The process's run of one kind.

    Args:
        action: acting on it, in the table.

    Attributes:
        run: for reading alone.
    """

    def __init__(self, run: R, action: Action) -> None:
        self.run, self._action = run, action

    def opened(self, by: Visitor) -> R:
        """The run, to act on.

        Raises:
            NotAllowed: where the visitor may not.
        """
        by.require(self._action)
        return self.run


SCORING: Final = GuardedRun(Scorer(), Action.SCORE)
