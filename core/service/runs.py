"""Training and scoring beside the app as a visitor may do it: everyone sees a run, the table says who acts on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import pandas as pd

from core.runs import local_training, market_training, scoring
from core.runs.local_run import LocalRun, RunPlan, RunStatus
from core.runs.local_training import Plan, Trainer
from core.runs.market_training import MarketPlan, MarketTrainer, Outlook
from core.runs.scoring import ScorePlan, Scorer
from core.service.access import Action, Visitor

P = TypeVar("P", bound=RunPlan)
R = TypeVar("R", bound=LocalRun[Any])


class GuardedRun(Generic[P, R]):
    """The process's run of one kind.

    Args:
        shared: gives it. action: what acting on it is in the table.
    """

    def __init__(self, shared: Callable[[], R], action: Action) -> None:
        self._shared, self._action = shared, action

    def start(self, by: Visitor, plan: P) -> None:
        """Begin a run.

        Raises:
            NotAllowed: where the visitor may not. TrainError, OSError: as `LocalRun.start`.
        """
        by.require(self._action)
        self._shared().start(plan)

    def stop(self, by: Visitor) -> None:
        """End the run.

        Raises:
            NotAllowed: where the visitor may not.
        """
        by.require(self._action)
        self._shared().stop()

    def status(self) -> RunStatus:
        """The state of the run now."""
        return self._shared().status()


class PictureTraining(GuardedRun[Plan, Trainer]):
    """Training of a small ViT."""

    def card(self) -> dict[str, Any] | None:
        """The finished run's card, None where there is none."""
        return self._shared().card()

    def keep(self, by: Visitor, name: str) -> Path:
        """Put the finished run among the checkpoints.

        Raises:
            NotAllowed: where the visitor may not. TrainError, OSError: as `Trainer.keep`.
        """
        by.require(self._action)
        return self._shared().keep(name)


class MarketTraining(GuardedRun[MarketPlan, MarketTrainer]):
    """Training of a TLOB on recordings."""

    @property
    def plan(self) -> MarketPlan | None:
        """The plan of the run; None where there is none."""
        return self._shared().plan

    def outlook(self, by: Visitor, plan: MarketPlan) -> Outlook:
        """Returns the data and the time of a planned run, which is measured by training two steps.

        Raises:
            NotAllowed: where the visitor may not. TrainError: as `market_training.outlook`.
        """
        by.require(self._action)
        return market_training.outlook(plan)

    def resume(self, by: Visitor) -> None:
        """Continue a run that was stopped or ended with its app.

        Raises:
            NotAllowed: where the visitor may not. TrainError, OSError: as `MarketTrainer.resume`.
        """
        by.require(self._action)
        self._shared().resume()

    def card(self) -> dict[str, Any] | None:
        """The card of the run's checkpoint; None before there is one."""
        return self._shared().card()


class Scoring(GuardedRun[ScorePlan, Scorer]):
    """Scoring of recordings."""

    def answer(self) -> dict[str, Any] | None:
        """Returns the answer that the finished run wrote; None where there is nothing."""
        return self._shared().answer()

    def table(self, name: str) -> pd.DataFrame:
        """A table of the finished run's report, as `Scorer.table`."""
        return self._shared().table(name)

    def file(self, name: str) -> Path | None:
        """A file of the finished run's report."""
        return self._shared().file(name)


PICTURES: Final = PictureTraining(lambda: local_training.shared_trainer(), Action.TRAIN)
MARKETS: Final = MarketTraining(lambda: market_training.shared_market_trainer(), Action.TRAIN)
SCORING: Final = Scoring(lambda: scoring.shared_scorer(), Action.SCORE)
