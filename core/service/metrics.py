"""The process's numbers in Prometheus' text format, read from the running sessions when they are asked for."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from core.market.hub import hub
from core.market.session import MarketSession
from core.market.session_view import STAGES
from core.market.store.index import recordings
from core.service.access import Action, closed
from core.service.logs import ERRORS

PREFIX = "observatory_"
Counts = dict[tuple[str, ...], float]


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


class SessionMetrics(Collector):
    """Reads the hub's sessions and adds them up by label. What sessions that ended had counted stays: no counter falls."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._totals: Counts = {}
        self._counted: WeakKeyDictionary[MarketSession, Counts] = WeakKeyDictionary()

    def collect(self) -> Iterable[Metric]:
        """One family of metrics after the other."""
        sessions, watched = hub().sessions(), {feed.key: feed.viewers for feed in hub().watched()}
        with self._lock:
            for session in sessions:
                before, now = self._counted.get(session, {}), _counters(session)
                for counter, value in now.items():
                    self._totals[counter] = self._totals.get(counter, 0.0) + value - before.get(counter, 0.0)
                self._counted[session] = now
            totals = dict(self._totals)
        steps = CounterMetricFamily(f"{PREFIX}steps", "Rows of the 250 ms grid, by feed.", labels=["feed"])
        gaps = CounterMetricFamily(f"{PREFIX}gaps", "Gaps in the rows, by feed.", labels=["feed"])
        predictions = CounterMetricFamily(f"{PREFIX}predictions", "Predictions made, by feed.", labels=["feed"])
        states = CounterMetricFamily(f"{PREFIX}feed_states", "Times a feed came into a state.", labels=["feed", "state"])
        latency = HistogramMetricFamily(
            f"{PREFIX}stage_seconds",
            "Time a step takes, by stage; total is from book received to predicted.",
            labels=["feed", "stage"],
        )
        counters = {one.name: one for one in (steps, gaps, predictions, states)}
        histograms: dict[tuple[str, ...], list[tuple[str, float]]] = {}
        for (name, *labels), value in totals.items():
            if name in counters:
                counters[name].add_metric(labels, value)
            else:
                histograms.setdefault(tuple(labels[:2]), []).append((labels[2], value))
        for of, ((_sum, total), *buckets) in histograms.items():
            latency.add_metric(of, buckets=buckets, sum_value=total)
        yield from (*counters.values(), latency, *_gauges(sessions, watched))


def _counters(session: MarketSession) -> Counts:
    """Counts that only grow, by name of the family and labels; of a histogram the sum, then each bucket."""
    label, name = label_of(session.feed.key), f"{PREFIX}stage_seconds"
    counted: Counts = {
        (f"{PREFIX}steps", label): session.step,
        (f"{PREFIX}gaps", label): session.gaps,
        (f"{PREFIX}predictions", label): session.latencies.predictions,
    }
    for state, times in list(session.transitions.items()):  # a feed may come into a new one meanwhile
        counted[f"{PREFIX}feed_states", label, str(state)] = times
    for stage in STAGES:
        buckets, total = session.latencies.histogram(stage)
        counted |= {(name, label, stage, bound): count for bound, count in [("sum", total), *buckets]}
    return counted


def _gauges(sessions: Sequence[MarketSession], watched: Mapping[str, int]) -> Iterable[Metric]:
    viewers = GaugeMetricFamily(f"{PREFIX}viewers", "Viewers of a feed.", labels=["feed"])
    sockets = GaugeMetricFamily(f"{PREFIX}stream_sockets", "Sockets that a feed's steps go out by.", labels=["feed"])
    waiting = GaugeMetricFamily(f"{PREFIX}queue_items", "Books and trades that wait to be processed.", labels=["feed"])
    lag = GaugeMetricFamily(f"{PREFIX}lag_seconds", "Venue's own time behind this machine's clock, the most.", labels=["feed"])
    for label in sorted({label_of(session.feed.key) for session in sessions}):
        of = [session for session in sessions if label_of(session.feed.key) == label]
        viewers.add_metric([label], sum(watched.get(session.feed.key, 0) for session in of))
        sockets.add_metric([label], sum(session.frames.stream.viewers for session in of))
        waiting.add_metric([label], sum(session.waiting for session in of))
        if lags := [session.lag_ms for session in of if session.lag_ms is not None]:
            lag.add_metric([label], max(lags) / 1e3)
    return viewers, sockets, waiting, lag


class Errors(Collector):
    """Warnings and errors that were logged."""

    def collect(self) -> Iterable[Metric]:
        """One counter."""
        errors = CounterMetricFamily(
            f"{PREFIX}errors", "Warnings and errors logged, by kind of exception.", labels=["level", "logger", "kind"]
        )
        for labels, count in list(ERRORS.counts.items()):
            errors.add_metric(labels, count)
        yield errors


@closed(Action.READ_METRICS)
def metrics() -> bytes:
    """All metrics now, in Prometheus' text format."""
    return generate_latest(_REGISTRY)


_REGISTRY = CollectorRegistry()
_REGISTRY.register(SessionMetrics())
_REGISTRY.register(Errors())
ProcessCollector(registry=_REGISTRY)
