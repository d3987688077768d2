"""The process's numbers in Prometheus' text format, read from the running sessions when they are asked for."""

from collections.abc import Iterable

from prometheus_client import ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from core.market.hub import hub
from core.market.meters import PREFIX, REGISTRY, label_of
from core.service.access import Action, closed
from core.service.logs import ERRORS


class Gauges(Collector):
    """Numbers of the hub's sessions as they stand, by label; the counters of all sessions are `core.market.meters`'."""

    def collect(self) -> Iterable[Metric]:
        """One family of metrics after the other."""
        sessions, watched = hub().sessions(), hub().watched()
        viewers = GaugeMetricFamily(f"{PREFIX}viewers", "Viewers of a feed.", labels=["feed"])
        sockets = GaugeMetricFamily(f"{PREFIX}stream_sockets", "Sockets that a feed's steps go out by.", labels=["feed"])
        waiting = GaugeMetricFamily(f"{PREFIX}queue_items", "Books and trades that wait to be processed.", labels=["feed"])
        lag = GaugeMetricFamily(f"{PREFIX}lag_seconds", "Most that a venue is behind this machine's clock.", labels=["feed"])
        for label in sorted({label_of(session.feed.key) for session in sessions}):
            of = [session for session in sessions if label_of(session.feed.key) == label]
            viewers.add_metric([label], sum(watched.get(session.feed.key, 0) for session in of))
            sockets.add_metric([label], sum(session.frames.stream.viewers for session in of))
            waiting.add_metric([label], sum(session.waiting for session in of))
            if lags := [session.lag_ms for session in of if session.lag_ms is not None]:
                lag.add_metric([label], max(lags) / 1e3)
        return viewers, sockets, waiting, lag


@closed(Action.READ_METRICS)
def metrics() -> bytes:
    """All metrics now, in Prometheus' text format."""
    return generate_latest(REGISTRY)


REGISTRY.register(Gauges())
REGISTRY.register(ERRORS.counts)
ProcessCollector(registry=REGISTRY)
