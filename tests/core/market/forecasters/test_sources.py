"""Where forecasters come from: files, addresses, entry points, checkpoints, trees."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.market.forecasters import catalogue
from core.market.forecasters.blend import CheckpointForecaster
from core.market.forecasters.catalogue import HttpForecaster, find_forecaster
from core.market.forecasters.protocol import Fault, ForecasterError, ForecastTask, ask
from core.market.forecasters.table import TableForecaster
from core.market.forecasters.trees import Boosters, TreeForecaster, _boosters, window_features
from core.market.predictor import windows_of
from tests.core.market.helpers import HEADS, random_book, save_tiny

TASK = ForecastTask(heads=HEADS, alphas=(1e-4,) * 4, window=24, market="testville abc")
ROWS = random_book(60, 3)
TIMES, WINDOWS = ROWS.timestamps[23:], windows_of(ROWS.levels, np.arange(23, 60), 24)
P = np.random.default_rng(0).dirichlet([1, 1, 1], (len(TIMES), len(HEADS)))


class Handler(BaseHTTPRequestHandler):
    """Answers by path; keeps the last request."""

    seen: dict[str, Any]
    release: threading.Event

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Handler.seen = {"body": body, "headers": dict(self.headers)}
        status, kind, content = 200, "application/json", json.dumps({"probabilities": P.tolist()}).encode()
        if self.path == "/named":
            content = json.dumps({"probabilities": {"forward_5": P[:, 3].tolist()}}).encode()
        elif self.path == "/npy":
            buffer = io.BytesIO()
            np.save(buffer, P)
            kind, content = "application/x-npy", buffer.getvalue()
        elif self.path == "/text":
            content = b"hello"
        elif self.path == "/away":
            status = 302
        elif self.path == "/never":
            Handler.release.wait(10)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Location", "/npy")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    Handler.release = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    Handler.release.set()
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("path", ["/json", "/npy"])
def test_an_address_is_sent_windows_and_gives_probabilities(address: str, path: str) -> None:
    found = ask(find_forecaster(address + path, TASK), "There", TIMES, WINDOWS, TASK)
    assert (found.faults == Fault.NONE).all() and found.probabilities == pytest.approx(P, abs=1e-12)
    sent = json.loads(Handler.seen["body"])
    assert np.array_equal(sent["windows"], WINDOWS) and sent["timestamps"] == TIMES.tolist()
    assert sent["heads"] == [list(head) for head in HEADS] and sent["market"] == "testville abc"


def test_an_address_can_be_sent_npy(address: str) -> None:
    found = ask(find_forecaster(f"npy+{address}/named", TASK), "There", TIMES, WINDOWS, TASK)
    assert found.probabilities[:, 3] == pytest.approx(P[:, 3], abs=1e-12) and (found.faults[:, :3] == Fault.NOT_OFFERED).all()
    assert np.array_equal(np.load(io.BytesIO(Handler.seen["body"])), WINDOWS)
    assert json.loads(Handler.seen["headers"]["X-Timestamps"]) == TIMES.tolist()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/text", 'the answer is no JSON with "probabilities", nor .npy'),
        ("/away", "the address answered with HTTP 302: 200 is right"),
        ("/never", "the address did not answer within 0.2 seconds"),
    ],
)
def test_what_an_address_does_wrong_is_one_sentence(address: str, path: str, reason: str) -> None:
    found = ask(HttpForecaster(address + path, TASK, timeout_s=0.2), "There", TIMES, WINDOWS, TASK)
    assert (found.faults == Fault.FAILED).all() and found.reason == f"There: {reason}"


def test_an_address_without_a_server_is_a_missing_answer() -> None:
    found = ask(HttpForecaster("http://127.0.0.1:9/", TASK), "There", TIMES, WINDOWS, TASK)
    assert found.reason == "There: the address could not be reached (ConnectionRefusedError)"


@pytest.mark.parametrize("host", ["example.org", "10.0.0.1", "169.254.169.254", "0.0.0.0", "[::ffff:10.0.0.1]"])
def test_other_machines_are_refused_unless_they_are_named(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ForecasterError, match="is not this machine: forecasters elsewhere must be named in OBSERVATORY_"):
        find_forecaster(f"http://{host}:9000/", TASK)
    monkeypatch.setenv("OBSERVATORY_FORECASTER_HOSTS", f"other, {host.strip('[]')}")
    assert isinstance(find_forecaster(f"http://{host}:9000/", TASK), HttpForecaster)


@pytest.mark.parametrize("address", ["https://127.0.0.1/", "ftp://127.0.0.1/", "http://", "http://[/", "http://127.0.0.1:x/"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ForecasterError, match="is not an address: one such as"):
        find_forecaster(address, TASK)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.8.0.1", "[::1]"])
def test_this_machine_is_allowed(host: str) -> None:
    assert isinstance(find_forecaster(f"http://{host}:9000/", TASK), HttpForecaster)


def table(**changes: Any) -> pd.DataFrame:
    frame = pd.DataFrame({"timestamp": TIMES})
    for index, (kind, horizon) in enumerate(HEADS[:2]):
        for k, name in enumerate(("down", "stationary", "up")):
            frame[f"{kind}_{horizon}_p_{name}"] = P[:, index, k]
    return frame.assign(**changes)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_file_gives_its_rows_by_time(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"mine{suffix}"
    frame = table().drop(index=[4]).sample(frac=1, random_state=0)
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    found = ask(find_forecaster(str(path), TASK), "mine", TIMES, WINDOWS, TASK)
    rest = np.arange(len(TIMES)) != 4
    assert found.probabilities[rest, :2] == pytest.approx(P[rest, :2], abs=1e-12)
    assert found.faults[4].tolist() == [Fault.ABSENT] * 2 + [Fault.NOT_OFFERED] * 2
    assert found.reason == f"mine{suffix} has no row for some of the times."


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (table().drop(columns="timestamp"), "mine has no column timestamp: milliseconds since the epoch are right"),
        (table().drop(columns="forward_10_p_up"), "mine lacks the column forward_10_p_up"),
        (table()[["timestamp"]], "mine has no columns of probabilities: names such as smoothed_10_p_down are right"),
        (table(timestamp=7), "mine has two rows of one timestamp"),
        (table(timestamp="noon"), "mine has a timestamp that is no number of milliseconds"),
    ],
)
def test_a_table_that_is_none_is_refused(frame: pd.DataFrame, reason: str) -> None:
    with pytest.raises(ForecasterError, match=f"^{reason}$"):
        TableForecaster(frame, TASK, name="mine")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"no")
    with pytest.raises(ForecasterError, match=r"a.parquet cannot be read: a CSV or Parquet table is right"):
        find_forecaster(str(tmp_path / "a.parquet"), TASK)
    with pytest.raises(ForecasterError, match=r"there is no file b.csv"):
        find_forecaster(str(tmp_path / "b.csv"), TASK)


class Installed:
    """Made from a task."""

    def __init__(self, task: ForecastTask) -> None:
        self.task = task

    def predict(self, windows: np.ndarray) -> np.ndarray:
        return np.full((len(windows), len(self.task.heads), 3), 1 / 3)


READY = Installed(TASK)


@pytest.mark.parametrize("name", ["Installed", "READY", "TASK", "absent"])
def test_entry_points_name_objects_and_factories(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("mine", f"{__name__}:{name}", catalogue.GROUP)
    monkeypatch.setattr(EntryPoint, "load", lambda self: globals()[name])
    monkeypatch.setattr(catalogue, "entry_points", lambda group: [entry] if group == catalogue.GROUP else [])
    catalogue.installed_names.cache_clear()
    assert "mine" in catalogue.offered()
    catalogue.installed_names.cache_clear()
    if name in ("Installed", "READY"):
        assert (ask(find_forecaster("mine", TASK), "mine", TIMES, WINDOWS, TASK).faults == Fault.NONE).all()
    else:
        with pytest.raises(ForecasterError, match="^mine cannot be loaded: (TypeError|KeyError): "):
            find_forecaster("mine", TASK)


def test_a_checkpoint_answers_with_its_own_probabilities(tmp_path: Path) -> None:
    save_tiny(tmp_path, random_book(400, 3))
    forecaster = CheckpointForecaster("tiny", TASK, folder=tmp_path)
    expected = forecaster.predictor.predict(WINDOWS, forecaster.predictor.markets["testville"]).probabilities
    assert ask(forecaster, "tiny", TIMES, WINDOWS, TASK).probabilities == pytest.approx(expected, abs=1e-6)
    with pytest.raises(ForecasterError, match="there is no checkpoint 'nobody'"):
        CheckpointForecaster("nobody", TASK, folder=tmp_path)


def test_features_of_trees_are_those_of_a_loop() -> None:
    rows = random_book(140, 5)
    windows = windows_of(rows.levels, np.array([127, 139]), 128)
    found = window_features(windows, 1e-4)
    for window, x in zip(windows, found, strict=True):
        ask_p, ask_v, bid_p, bid_v = (window[-1, column::4] for column in range(4))
        mid = [(row[0] + row[2]) / 2 for row in window]
        middle = np.median(np.log([*ask_v, *bid_v]))
        expected = [*((ask_p / mid[-1] - 1) * 1e4), *((bid_p / mid[-1] - 1) * 1e4)]
        expected += [*(np.log(ask_v) - middle), *(np.log(bid_v) - middle), *np.log(ask_v / bid_v)]
        lags = (1, 2, 4, 8, 16, 32, 64, 127)
        expected += [np.log(mid[-1] / mid[-1 - lag]) * 1e4 for lag in lags]
        expected += [np.mean([np.log(row[1] / row[3]) for row in window[128 - lag :]]) for lag in lags]
        assert x == pytest.approx(expected, rel=1e-5, abs=1e-4)


def test_boosters_compute_a_window_once_for_two_forecasters() -> None:
    asked = []

    class Booster:
        def predict(self, x: np.ndarray, num_threads: int) -> np.ndarray:
            asked.append(x)
            return np.full(3 * len(x), x.sum())

    boosters = Boosters({"forward_10": Booster()})
    one, other = np.ones((1, 4), np.float32), np.zeros((2, 4), np.float32)
    answers = [boosters(x)["forward_10"] for x in (one, one.copy(), other, one)]
    assert len(asked) == 3 and [answer.shape for answer in answers] == [(1, 3), (1, 3), (2, 3), (1, 3)]
    assert [answer[0, 0] for answer in answers] == [4, 4, 0, 4]


def test_trees_answer_every_head_or_say_how_to_install_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    heads = tuple((kind, horizon) for kind in ("smoothed", "forward") for horizon in (10, 20, 50, 100))
    task = ForecastTask(heads=heads, alphas=(1e-4,) * 8, market="live/binance/NEXO/USDT")  # type: ignore[arg-type]
    rows = random_book(140, 5)
    windows = windows_of(rows.levels, np.arange(127, 140), 128)
    _boosters.cache_clear()
    with monkeypatch.context() as patch:
        patch.setitem(__import__("sys").modules, "lightgbm", None)
        with pytest.raises(ForecasterError, match=r"LightGBM is not installed: pip install lightgbm"):
            TreeForecaster(task)
    trees = TreeForecaster(task)
    assert trees.market == "binance_nexousdt"
    assert TreeForecaster(ForecastTask(heads=heads, alphas=(1e-4,) * 8, market="kraken")).market == "pooled"  # type: ignore[arg-type]
    found = ask(trees, "LightGBM", rows.timestamps[127:], windows, task)
    assert found.reason == "" and (found.faults == Fault.NONE).all()
