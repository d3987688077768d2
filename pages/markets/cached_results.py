"""What the model says of a window, computed once however many people look at it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from core import checkpoints
from core.device import use_one_thread
from core.explain import attribution, faithfulness
from core.explain.attribution import Attribution, BaselineKind
from core.explain.faithfulness import Curves
from core.explain.rollout import rollout
from core.market import evidence as evidences
from core.market import predictor as predictors
from core.market.calibration import MOVING
from core.market.predictor import MarketCard, Predictor
from core.market.windows import FrozenWindow, WindowError

TIME, FEATURE = "time-to-time", "feature-to-feature"
ROLLOUT = "rollout"


@dataclass(frozen=True, kw_only=True)
class WindowAnswer:
    """One window, read by the model it names. Nobody writes to the arrays: they are shared.

    Attributes:
        probabilities: (heads, 3). calls: the class called, one a head.
        maps: weights (heads, n, n) by layer name; after the layers' own, "rollout time-to-time" and
            "rollout feature-to-feature", (1, n, n).
    """

    predictor: Predictor
    entry: MarketCard
    probabilities: Any
    calls: tuple[int, ...]
    maps: dict[str, Any]

    def layers(self, kind: str) -> list[str]:
        """Names of one kind's layers, first one first, without the rollout."""
        return [name for name in self.maps if name.startswith(kind)]


def model_names() -> list[str]:
    """The TLOB checkpoints there are."""
    return checkpoints.names("tlob", folder=checkpoints.FOLDER)


def predictor_of(name: str) -> Predictor:
    """A checkpoint by name.

    Raises:
        CheckpointError: where it is missing or damaged.
    """
    return predictors.load_predictor(name, folder=checkpoints.FOLDER)


@lru_cache(maxsize=64)
def read(window: FrozenWindow) -> WindowAnswer:
    """Probabilities and all maps of a window.

    Raises:
        CheckpointError: where its model is missing or damaged. WindowError: where the model takes windows of another length.
    """
    predictor = _fitting(window)
    entry = predictor.market(window.market)
    probabilities, layers = predictor.attention(window.levels, entry)
    maps: dict[str, Any] = dict(layers)
    calls = tuple(int(rule.call(probabilities[i])) for i, rule in enumerate(entry.rules))
    for kind in (TIME, FEATURE):
        maps[f"{ROLLOUT} {kind}"] = rollout([weights for name, weights in layers.items() if name.startswith(kind)])[None]
    return WindowAnswer(predictor=predictor, entry=entry, probabilities=probabilities, calls=calls, maps=maps)


@lru_cache(maxsize=64)
def attribute(window: FrozenWindow, head: int, label: int, baseline: BaselineKind) -> Attribution:
    """Integrated gradients of one head's probability of one class, over the 128 x 40 input.

    Raises:
        As `read`.
    """
    predictor = _fitting(window)
    entry = predictor.market(window.market)
    rule = entry.rules[head]
    inputs = predictor.inputs(window.levels[None], entry)[0]
    probability = attribution.class_probability(
        predictor.model, label=label, output=head, temperature=rule.temperature, offsets=rule.bias * MOVING
    )
    return attribution.integrated_gradients(probability, inputs, attribution.tlob_baseline(inputs, baseline))


@lru_cache(maxsize=64)
def deletions(window: FrozenWindow, head: int, label: int) -> Curves:
    """Deletion curves of one head's probability of one class, moment by moment.

    Raises:
        As `read`.
    """
    predictor = _fitting(window)
    asked = evidences.evidence(predictor, predictor.market(window.market), window.levels, head=head, label=label)
    return faithfulness.deletion_curves(asked)


def _fitting(window: FrozenWindow) -> Predictor:
    use_one_thread()  # of this thread, too: a page may compute before any feed runs
    predictor = predictor_of(window.predictor)
    if len(window) != predictor.window:
        raise WindowError(f"the window has {len(window)} rows: the model {window.predictor} takes {predictor.window}")
    return predictor
