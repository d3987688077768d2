"""The process as it stands when asked: its health (feeds, model, disk), and its numbers in Prometheus' text format."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prometheus_client import ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from core import checkpoints
from core.market.book import BookError
from core.market.hub import hub
from core.market.meters import PREFIX, REGISTRY, label_of
from core.market.predictor import DEFAULT
from core.market.store.places import library_folder
from core.service.access import Action, Visitor, closed
from core.service.logs import ERRORS

MIN_FREE = 200 * 2**20
"""Bytes of free disk below which the process is not ready: a recording would soon stop."""


def health(by: Visitor) -> dict[str, Any]:
    """State of this process now: `live`, true of every one that answers, and `ready`, whether new viewers can be served.

    For whom the table lets, also the feeds' states (a failed one makes nobody unready: its venue may be away), why the default
    model cannot be read, and the free bytes of the disk that recordings are written to.
    """
    model = "ok"
    try:
        checkpoints.read_card(DEFAULT)
    except checkpoints.CheckpointError as error:
        model = str(error)
    try:
        place = library_folder()
    except BookError:  # a URL is named
        place = Path()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    state: dict[str, Any] = {"live": True, "ready": model == "ok" and free >= MIN_FREE}
    if by.may(Action.READ_METRICS):
        feeds = {session.feed.key: str(session.status_now()[0]) for session in hub().sessions()}
        state |= {"feeds": feeds, "model": model, "disk_free_bytes": free}
    return state


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
            if lags := [session.lag.ms for session in of if session.lag.ms is not None]:
                lag.add_metric([label], max(lags) / 1e3)
        return viewers, sockets, waiting, lag


@closed(Action.READ_METRICS)
def metrics() -> bytes:
    """All metrics now, in Prometheus' text format."""
    return generate_latest(REGISTRY)


REGISTRY.register(Gauges())
REGISTRY.register(ERRORS.counts)
ProcessCollector(registry=REGISTRY)
