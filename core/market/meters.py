"""Counters of what sessions do, by the label of their feed: Prometheus' own, which `core.service.health` gives out.

They are the process's: what sessions that ended had counted stays.
"""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

from core.market.store.index import recordings

PREFIX: Final = "observatory_"
REGISTRY: Final = CollectorRegistry()
STAGES: Final = ("feed", "features", "model", "total")
"""From the book received to its row; features and model for one row of its batch; from the book received to its prediction."""
BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper bounds of a stage's histogram, seconds."""

disable_created_metrics()
_STEPS: Final = Counter(f"{PREFIX}steps", "Rows of the 250 ms grid, by feed.", ["feed"], registry=REGISTRY)
_GAPS: Final = Counter(f"{PREFIX}gaps", "Gaps in the rows, by feed.", ["feed"], registry=REGISTRY)
_PREDICTIONS: Final = Counter(f"{PREFIX}predictions", "Predictions made, by feed.", ["feed"], registry=REGISTRY)
_STATES: Final = Counter(f"{PREFIX}feed_states", "Times a feed came into a state.", ["feed", "state"], registry=REGISTRY)
_SECONDS: Final = Histogram(
    f"{PREFIX}stage_seconds",
    "Time a step takes, by stage; total is from book received to predicted.",
    ["feed", "stage"],
    buckets=BUCKETS_S,
    registry=REGISTRY,
)


def label_of(key: str) -> str:
    """The label of a feed by its key: its exchange, or a bundled recording's name; all that visitors bring share one, and so on.

    So there are as many labels as exchanges and bundled recordings, however many visitors play however many files.
    """
    kind, _, name = key.partition("~")[0].partition("/")
    if kind == "live":
        return name.partition("/")[0]
    if kind == "simulated" or name in {one.name for one in recordings()}:
        return kind if kind == "simulated" else name
    return "recorded" if "/" in name else "upload"  # a market's day of the library, or a loose file


class Meters:
    """Counters of a feed's label: its steps, gaps and predictions."""

    def __init__(self, key: str) -> None:
        self._label = label_of(key)
        self.steps, self.gaps, self.predictions = (one.labels(self._label) for one in (_STEPS, _GAPS, _PREDICTIONS))
        self._seconds = [_SECONDS.labels(self._label, stage) for stage in STAGES]

    def came_into(self, state: str) -> None:
        """Count a state of the feed."""
        _STATES.labels(self._label, state).inc()

    def took(self, *durations_ms: float) -> None:
        """Count a batch that ended on a new book: milliseconds in the order of `STAGES`."""
        for stage, duration_ms in zip(self._seconds, durations_ms, strict=True):
            stage.observe(duration_ms / 1e3)
