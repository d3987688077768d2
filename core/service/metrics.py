"""The process's numbers in Prometheus' text format, read from the running sessions when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from core.market.hub import Hub, hub
from core.market.session_view import STAGES
from core.service.access import Action, closed
from core.service.logs import ERRORS

PREFIX = "observatory_"


class SessionMetrics(Collector):
    """Reads a hub's sessions. Counters begin anew with a session, as Prometheus expects of a restarted process."""

    def __init__(self, of: Hub) -> None:
        self._hub = of

    def collect(self) -> Iterable[Metric]:
        """One family of metrics after the other."""
        steps = CounterMetricFamily(f"{PREFIX}steps", "Rows of the 250 ms grid, by feed.", labels=["feed"])
        gaps = CounterMetricFamily(f"{PREFIX}gaps", "Gaps in the rows, by feed.", labels=["feed"])
        predictions = CounterMetricFamily(f"{PREFIX}predictions", "Predictions made, by feed.", labels=["feed"])
        states = CounterMetricFamily(f"{PREFIX}feed_states", "Times a feed came into a state.", labels=["feed", "state"])
        viewers = GaugeMetricFamily(f"{PREFIX}viewers", "Viewers of a feed.", labels=["feed"])
        sockets = GaugeMetricFamily(f"{PREFIX}stream_sockets", "Sockets that a feed's steps go out by.", labels=["feed"])
        waiting = GaugeMetricFamily(f"{PREFIX}queue_items", "Books and trades that wait to be processed.", labels=["feed"])
        latency = HistogramMetricFamily(
            f"{PREFIX}stage_seconds",
            "Time a step takes, by stage; total is from book received to predicted.",
            labels=["feed", "stage"],
        )
        lag = GaugeMetricFamily(f"{PREFIX}lag_seconds", "Venue's own time behind this machine's clock.", labels=["feed"])
        watched = {feed.key: feed.viewers for feed in self._hub.watched()}
        for session in self._hub.sessions():
            key = session.feed.key
            steps.add_metric([key], session.step)
            gaps.add_metric([key], session.gaps)
            predictions.add_metric([key], session.latencies.predictions)
            for state, times in list(session.transitions.items()):  # a feed may come into a new one meanwhile
                states.add_metric([key, str(state)], times)
            viewers.add_metric([key], watched.get(key, 0))
            sockets.add_metric([key], session.frames.stream.viewers)
            waiting.add_metric([key], session.waiting)
            if session.lag_ms is not None:
                lag.add_metric([key], session.lag_ms / 1e3)
            for stage in STAGES:
                buckets, total = session.latencies.histogram(stage)
                latency.add_metric([key, stage], buckets=buckets, sum_value=total)
        yield from (steps, gaps, predictions, states, viewers, sockets, waiting, latency, lag)


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
    registry = CollectorRegistry()
    registry.register(SessionMetrics(hub()))
    registry.register(Errors())
    ProcessCollector(registry=registry)
    return generate_latest(registry)
