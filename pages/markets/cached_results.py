"""A model's answer, attributions and deletion curves for a window, cached for all viewers."""

from dataclasses import dataclass
from typing import Any, Final

from attention_light.rollout import rollout
from core import checkpoints
from core.explain import attribution, erasing
from core.explain.attribution import Attribution, Report
from core.explain.erasing import Needed
from core.explain.faithfulness import ExplainedInput
from core.market import evidence
from core.market import predictor as predictors
from core.market.predictor import MarketCard, Predictor
from core.market.windows import FrozenWindow, WindowError
from pages.shared.kept_results import Hashes, kept

TIME, FEATURE = "time-to-time", "feature-to-feature"
ROLLOUT = "rollout"
HASHES: Final[Hashes] = {FrozenWindow: lambda window: window.id}
"""Keys that tell two arguments apart: a window by content and model."""


@dataclass(frozen=True, kw_only=True)
class WindowAnswer:
    """A model's answer for one window. Its arrays are shared by all viewers and never written to.

    Attributes:
        probabilities: (heads, 3). likeliest: the class of the largest of each head.
        maps: weights (heads, n, n) by layer name; after the layers' own, "rollout time-to-time" and
            "rollout feature-to-feature", (1, n, n).
    """

    predictor: Predictor
    entry: MarketCard
    probabilities: Any
    likeliest: tuple[int, ...]
    maps: dict[str, Any]

    def layers(self, kind: str) -> list[str]:
        """Names of the layers of one kind in their order, without the rollout."""
        return [name for name in self.maps if name.startswith(kind)]


def model_names() -> list[str]:
    """Names of the TLOB checkpoints."""
    return checkpoints.names("tlob", folder=checkpoints.FOLDER)


def predictor_of(name: str) -> Predictor:
    """A checkpoint by name.

    Raises:
        CheckpointError: where it is missing or damaged.
    """
    return predictors.load_predictor(name, folder=checkpoints.FOLDER)


@kept(64, HASHES)
def answer(window: FrozenWindow, hidden: tuple[int, ...] = ()) -> WindowAnswer:
    """Probabilities and all attention maps of a window, without the moments that are rubbed out.

    Raises:
        CheckpointError: where its model is missing or damaged. WindowError: where the model takes windows of another length.
    """
    predictor, entry = _fitting(window)
    probabilities, layers = evidence.attention_without(predictor, entry, window.levels, hidden)
    maps: dict[str, Any] = dict(layers)
    likeliest = tuple(probabilities.argmax(axis=-1).tolist())
    for kind in (TIME, FEATURE):
        maps[f"{ROLLOUT} {kind}"] = rollout([weights for name, weights in layers.items() if name.startswith(kind)])[None]
    return WindowAnswer(predictor=predictor, entry=entry, probabilities=probabilities, likeliest=likeliest, maps=maps)


@kept(64, HASHES)
def attribute(window: FrozenWindow, head: int, label: int, hidden: tuple[int, ...] = ()) -> Attribution:
    """Integrated gradients of one head's probability of one class over all inputs, against each input's mean over the window.

    Args:
        hidden: moments that are rubbed out.

    Raises:
        As `answer`.
    """
    predictor, entry = _fitting(window)
    inputs = evidence.inputs_without(predictor, entry, window.levels, erasing.mask(hidden, len(window)))[0]
    probability = evidence.head_probability(predictor, entry, head=head, label=label)
    return attribution.integrated_gradients(probability, inputs, attribution.tlob_baseline(inputs))


@kept(64, HASHES)
def explained(window: FrozenWindow, head: int, label: int) -> ExplainedInput:
    """Importance of each moment for one head's probability of one class, by every method.

    Raises:
        As `answer`.
    """
    return evidence.explain_window(*_fitting(window), window.levels, head=head, label=label)


@kept(64, HASHES)
def needed(window: FrozenWindow, head: int, label: int, *, report: Report) -> Needed:
    """Moments that must go until the head's likeliest class changes, by occlusion, by rollout and at random."""
    importance = explained(window, head, label).importance

    def likeliest(hidden: Any) -> Any:
        found = evidence.answers_without(*_fitting(window), window.levels, hidden)
        return found[:, head].argmax(axis=-1).tolist()

    return erasing.needed(likeliest, {name: importance[name] for name in ("occlusion", "rollout")}, report=report)


def _fitting(window: FrozenWindow) -> tuple[Predictor, MarketCard]:
    """A window's model, and its entry for the window's market."""
    predictor = predictor_of(window.predictor)
    if len(window) != predictor.window:
        raise WindowError(f"the window has {len(window)} rows: the model {window.predictor} takes {predictor.window}")
    return predictor, predictor.market(window.market)
