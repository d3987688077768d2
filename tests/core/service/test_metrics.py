"""The process's health, and its metrics as Prometheus' own parser reads them."""

import json
import logging
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from core import checkpoints
from core.market.feeds.background import BackgroundLoop
from core.market.feeds.protocol import FeedState, StatusChange
from core.market.hub import Hub
from core.market.session import MarketSession
from core.market.session_view import BUCKETS_S, STAGES, LatencyLog
from core.market.store.index import recordings
from core.service import health as health_module
from core.service import metrics as metrics_module
from core.service.access import NotAllowed, Role, Visitor
from core.service.health import health
from core.service.logs import ERRORS
from tests.core.market.feeds_for_tests import ScriptedFeed, replaying, wait_until
from tests.core.market.helpers import real_rows, tiny_predictor

ROWS = 40
OPERATOR, SIGNED_IN = (Visitor(id="", role=role) for role in (Role.OPERATOR, Role.SIGNED_IN))


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """A hub with one session that has played some rows, a gap and no more."""
    rows = real_rows(4)
    predictor = tiny_predictor(tmp_path_factory.mktemp("checkpoint"), rows)
    loop = BackgroundLoop("test")
    hub = Hub(loop)
    gap = StatusChange(state=FeedState.RECONNECTING, message="", gap=True)
    feed = ScriptedFeed([*replaying(rows[:ROWS]), gap])
    session = hub.watch("me", feed.key, partial(MarketSession, feed, predictor))
    wait_until(lambda: session.step == ROWS and session.gaps == 1)
    yield hub
    hub.stop()
    loop.stop()


@pytest.fixture
def families(watched: Hub, monkeypatch: pytest.MonkeyPatch) -> dict[str, Metric]:
    monkeypatch.setattr(metrics_module, "hub", lambda: watched)
    return {family.name: family for family in text_string_to_metric_families(metrics_module.metrics(OPERATOR).decode())}


def value(family: Metric, **labels: str) -> float:
    (sample,) = [one for one in family.samples if labels.items() <= one.labels.items()]
    return float(sample.value)


def test_the_numbers_of_a_session(families: dict[str, Metric], watched: Hub) -> None:
    (session,) = watched.sessions()
    window = session.predictor.window
    assert value(families["observatory_steps"]) == ROWS
    assert value(families["observatory_gaps"]) == 1
    assert value(families["observatory_predictions"]) == ROWS - window + 1
    assert value(families["observatory_viewers"]) == 1
    assert value(families["observatory_queue_items"]) == 0
    assert value(families["observatory_feed_states"], state="reconnecting") == 1


def test_labels_are_exchanges_and_recordings_and_no_visitors(monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = recordings()[0].name
    keys = [f"recording/{bundled}~{i}" for i in range(3)] + [f"recording/mine {i}~{i}" for i in range(5)]
    keys += ["live/kraken/BTC/USD", "live/kraken/ETH/USD", "simulated/7~a", "simulated/8~b", "recording/binance_BTC/2026-01-02~c"]
    sessions = [
        MagicMock(step=10, gaps=0, latencies=LatencyLog(), transitions=Counter(), waiting=2, lag_ms=None) for _key in keys
    ]
    for session, key in zip(sessions, keys, strict=True):
        session.feed.key, session.frames.stream.viewers = key, 1
    feeds = [SimpleNamespace(key=key, viewers=2) for key in keys]
    collector = metrics_module.SessionMetrics()

    def families() -> dict[str, dict[str, float]]:
        return {family.name: {one.labels["feed"]: one.value for one in family.samples} for family in collector.collect()}

    monkeypatch.setattr(metrics_module, "hub", lambda: SimpleNamespace(sessions=lambda: sessions, watched=lambda: feeds))
    first = families()
    counts = {bundled: 3, "upload": 5, "kraken": 2, "simulated": 2, "recorded": 1}
    assert first["observatory_steps"] == {label: 10 * count for label, count in counts.items()}
    assert first["observatory_viewers"] == first["observatory_queue_items"] == {one: 2 * count for one, count in counts.items()}
    assert set(first["observatory_stage_seconds"]) == set(counts)

    for _of_an_upload in range(4):
        sessions.pop(3)
    sessions[3].step = 13
    again = families()
    assert again["observatory_steps"] == first["observatory_steps"] | {"upload": 53}  # no counter falls as sessions end
    assert again["observatory_queue_items"]["upload"] == 2


def test_what_was_logged_is_counted_by_kind(families: dict[str, Metric], watched: Hub) -> None:
    def count() -> float:
        found = {family.name: family for family in text_string_to_metric_families(metrics_module.metrics(OPERATOR).decode())}
        labels = {"level": "warning", "logger": "core.market", "kind": "TimeoutError"}
        same = [one.value for one in found["observatory_errors"].samples if one.labels == labels]
        return sum(same)

    before = count()
    caught = (TimeoutError, TimeoutError(), None)
    ERRORS.handle(logging.LogRecord("core.market", logging.WARNING, __file__, 1, "no answer", None, caught))
    assert count() == before + 1


def test_every_timed_batch_is_in_each_stages_histogram(families: dict[str, Metric], watched: Hub) -> None:
    (session,) = watched.sessions()
    for stage in STAGES:
        samples = [one for one in families["observatory_stage_seconds"].samples if one.labels["stage"] == stage]
        counts = [(one.labels["le"], one.value) for one in samples if one.name.endswith("_bucket")]
        assert counts == session.latencies.histogram(stage)[0] and counts[-1][1] > 0


def test_a_histogram_counts_what_took_no_longer() -> None:
    log, batches = LatencyLog(), np.random.default_rng(0).exponential(300.0, (200, len(STAGES)))
    for batch in batches:
        log.add(*batch)
    for place, stage in enumerate(STAGES):
        counts, total = log.histogram(stage)
        assert [count for _, count in counts] == [
            *((batches[:, place] / 1e3 <= bound).sum() for bound in BUCKETS_S),
            len(batches),
        ]
        assert total == pytest.approx(batches[:, place].sum() / 1e3)


def test_a_duration_on_a_bound_is_within_it() -> None:
    log = LatencyLog()
    log.add(1.0, 2.5, 250.0, 9_000.0)
    assert dict(log.histogram("feed")[0])["0.001"] == 1
    assert dict(log.histogram("model")[0])["0.1"] == 0 and dict(log.histogram("model")[0])["0.25"] == 1
    assert dict(log.histogram("total")[0]) == {**dict.fromkeys(map(str, BUCKETS_S), 0), "+Inf": 1}
    assert log.histogram("total")[1] == 9.0


def test_health_names_feeds_and_is_ready(watched: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(health_module, "hub", lambda: watched)
    state = health(OPERATOR, tmp_path / "not" / "there")
    assert state["ready"] and state["model"] == "ok"
    assert list(state["feeds"]) == [watched.sessions()[0].feed.key]


def test_a_full_disk_or_a_missing_model_is_not_ready(watched: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(health_module, "hub", lambda: watched)
    monkeypatch.setattr(health_module.shutil, "disk_usage", lambda _: SimpleNamespace(free=health_module.MIN_FREE - 1))
    assert not health(OPERATOR, tmp_path)["ready"]
    monkeypatch.undo()
    monkeypatch.setattr(health_module, "hub", lambda: watched)

    def missing(_name: str) -> None:
        raise checkpoints.CheckpointError("the card is damaged")

    monkeypatch.setattr(checkpoints, "read_card", missing)
    state = health(OPERATOR, tmp_path)
    assert not state["ready"] and state["model"] == "the card is damaged" and state["live"]


def test_strangers_learn_whether_it_is_well_and_no_more(watched: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_module, "hub", lambda: watched)
    assert health(SIGNED_IN, tmp_path) == {"live": True, "ready": True}
    with pytest.raises(NotAllowed):
        metrics_module.metrics(SIGNED_IN)


def test_the_dashboard_asks_for_metrics_that_there_are(families: dict[str, Metric]) -> None:
    ERRORS.handle(logging.LogRecord("core.market", logging.WARNING, __file__, 1, "no answer", None, None))
    again = text_string_to_metric_families(metrics_module.metrics(OPERATOR).decode())
    offered = {sample.name: set(sample.labels) for family in again for sample in family.samples}
    offered["observatory_lag_seconds"] = {"feed"}  # of venues that give their own time
    dashboard = json.loads((Path(__file__).resolve().parents[3] / "deploy" / "grafana.json").read_text(encoding="utf-8"))
    targets = [target for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(targets) > 10
    for target in targets:
        (name,) = re.findall(r"(?:observatory|process)_\w+", target["expr"])
        assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= offered[name], target["expr"]
