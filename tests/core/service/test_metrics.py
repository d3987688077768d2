"""The process's health, and its metrics as Prometheus' own parser reads them."""

import json
import logging
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from core import checkpoints
from core.market.feeds.background import BackgroundLoop
from core.market.feeds.protocol import Status, StatusChange
from core.market.hub import Hub
from core.market.meters import BUCKETS_S, REGISTRY, STAGES, Meters
from core.market.session import MarketSession
from core.market.store.index import recordings
from core.service import health as health_module
from core.service.access import Role, Visitor
from core.service.health import health
from core.service.logs import ERRORS
from tests.core.market.feeds_for_tests import ScriptedFeed, replaying, wait_until
from tests.core.market.helpers import real_rows, tiny_predictor

ROWS, LABEL = 40, "metrics_test"
OPERATOR = Visitor(id="", role=Role.OPERATOR)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """A hub with one session that has played some rows, a gap and no more."""
    rows = real_rows(4)
    predictor = tiny_predictor(tmp_path_factory.mktemp("checkpoint"), rows)
    loop = BackgroundLoop("test")
    hub = Hub(loop)
    gap = StatusChange(state=Status.RECONNECTING, message="", gap=True)
    feed = ScriptedFeed([*replaying(rows[:ROWS]), gap], key=f"live/{LABEL}/X")
    session = hub.watch("me", feed.key, partial(MarketSession, feed, predictor))
    wait_until(lambda: session.step == ROWS and REGISTRY.get_sample_value("observatory_gaps_total", {"feed": LABEL}) == 1)
    yield hub
    hub.stop()
    loop.stop()


def read() -> dict[str, Metric]:
    return {family.name: family for family in text_string_to_metric_families(health_module.metrics(OPERATOR).decode())}


@pytest.fixture
def families(watched: Hub, monkeypatch: pytest.MonkeyPatch) -> dict[str, Metric]:
    monkeypatch.setattr(health_module, "hub", lambda: watched)
    return read()


def value(family: Metric, **labels: str) -> float:
    (sample,) = [one for one in family.samples if labels.items() <= one.labels.items()]
    return float(sample.value)


def test_the_numbers_of_a_session(families: dict[str, Metric], watched: Hub) -> None:
    (session,) = watched.sessions()
    window = session.predictor.window
    assert value(families["observatory_steps"], feed=LABEL) == ROWS
    assert value(families["observatory_gaps"], feed=LABEL) == 1
    assert value(families["observatory_predictions"], feed=LABEL) == ROWS - window + 1
    assert value(families["observatory_viewers"]) == 1
    assert value(families["observatory_queue_items"]) == 0
    assert value(families["observatory_feed_states"], feed=LABEL, state="reconnecting") == 1


def test_labels_are_exchanges_and_recordings_and_no_visitors(monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = recordings()[0].name
    keys = [f"recording/{bundled}~{i}" for i in range(3)] + [f"recording/mine {i}~{i}" for i in range(5)]
    keys += ["live/kraken/BTC/USD", "live/kraken/ETH/USD", "simulated/7~a", "simulated/8~b", "recording/binance_BTC/2026-01-02~c"]
    sessions = [MagicMock(waiting=2, lag=MagicMock(ms=None)) for _key in keys]
    for session, key in zip(sessions, keys, strict=True):
        session.feed.key, session.frames.stream.viewers = key, 1
    feeds = dict.fromkeys(keys, 2)
    monkeypatch.setattr(health_module, "hub", lambda: SimpleNamespace(sessions=lambda: sessions, watched=lambda: feeds))
    families = {one.name: {of.labels["feed"]: of.value for of in one.samples} for one in health_module.Gauges().collect()}
    counts = {bundled: 3, "upload": 5, "kraken": 2, "simulated": 2, "recorded": 1}
    assert (
        families["observatory_viewers"]
        == families["observatory_queue_items"]
        == {one: 2 * count for one, count in counts.items()}
    )


def test_no_counter_falls_as_sessions_end() -> None:
    for number in range(2):
        Meters(f"live/an_exchange/{number}").steps.inc(10)
    assert REGISTRY.get_sample_value("observatory_steps_total", {"feed": "an_exchange"}) == 20


def test_what_was_logged_is_counted_by_kind(families: dict[str, Metric], watched: Hub) -> None:
    def count() -> float:
        labels = {"level": "warning", "logger": "core.market", "kind": "TimeoutError"}
        return sum(one.value for one in read()["observatory_errors"].samples if one.labels == labels)

    before = count()
    caught = (TimeoutError, TimeoutError(), None)
    ERRORS.handle(logging.LogRecord("core.market", logging.WARNING, __file__, 1, "no answer", None, caught))
    assert count() == before + 1


def test_every_timed_batch_is_in_each_stages_histogram(families: dict[str, Metric]) -> None:
    samples = [one for one in families["observatory_stage_seconds"].samples if one.labels["feed"] == LABEL]
    counts = {one.labels["stage"]: one.value for one in samples if one.name.endswith("_count")}
    assert counts.keys() == set(STAGES) and min(counts.values()) == max(counts.values()) > 0
    assert {one.labels["le"] for one in samples if one.name.endswith("_bucket")} == {*map(str, BUCKETS_S), "+Inf"}


def test_milliseconds_are_counted_as_seconds_and_a_duration_on_a_bound_is_within_it() -> None:
    Meters("live/on_a_bound/X").took(1.0, 2.5, 250.0, 9_000.0)

    def counted(name: str, **labels: str) -> float | None:
        return REGISTRY.get_sample_value(f"observatory_stage_seconds_{name}", {"feed": "on_a_bound", **labels})

    assert (counted("bucket", stage="feed", le="0.001"), counted("bucket", stage="features", le="0.001")) == (1, 0)
    assert (counted("bucket", stage="model", le="0.1"), counted("bucket", stage="model", le="0.25")) == (0, 1)
    assert (counted("bucket", stage="total", le="2.5"), counted("bucket", stage="total", le="+Inf")) == (0, 1)
    assert counted("sum", stage="total") == 9.0


def test_health_names_feeds_and_is_ready(watched: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(health_module, "hub", lambda: watched)
    monkeypatch.setattr(health_module, "library_folder", lambda: tmp_path / "not" / "there")
    state = health(OPERATOR)
    assert state["ready"] and state["model"] == "ok"
    assert list(state["feeds"]) == [watched.sessions()[0].feed.key]


def test_a_full_disk_or_a_missing_model_is_not_ready(watched: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_module, "hub", lambda: watched)
    monkeypatch.setattr(health_module.shutil, "disk_usage", lambda _: SimpleNamespace(free=health_module.MIN_FREE - 1))
    assert not health(OPERATOR)["ready"]
    monkeypatch.undo()
    monkeypatch.setattr(health_module, "hub", lambda: watched)

    def missing(_name: str) -> None:
        raise checkpoints.CheckpointError("the card is damaged")

    monkeypatch.setattr(checkpoints, "read_card", missing)
    state = health(OPERATOR)
    assert not state["ready"] and state["model"] == "the card is damaged" and state["live"]


def test_the_dashboard_asks_for_metrics_that_there_are(families: dict[str, Metric]) -> None:
    ERRORS.handle(logging.LogRecord("core.market", logging.WARNING, __file__, 1, "no answer", None, None))
    offered = {sample.name: set(sample.labels) for family in read().values() for sample in family.samples}
    offered["observatory_lag_seconds"] = {"feed"}  # of venues that give their own time
    dashboard = json.loads((Path(__file__).resolve().parents[3] / "deploy" / "grafana.json").read_text(encoding="utf-8"))
    targets = [target for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(targets) > 10
    for target in targets:
        (name,) = re.findall(r"(?:observatory|process)_\w+", target["expr"])
        assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= offered[name], target["expr"]
