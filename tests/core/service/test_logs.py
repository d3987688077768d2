"""Structured logs: what they say, and what they keep to themselves."""

import json
import logging
import sys
from collections.abc import Iterator

import pytest

from core.service import logs
from core.service.logs import ErrorCounts, LogFormatter, redacted


def record(message: str, *values: object, failing: Exception | None = None) -> logging.LogRecord:
    caught = None
    if failing is not None:
        try:
            raise failing
        except Exception:
            caught = sys.exc_info()
    return logging.LogRecord("core.market.session", logging.ERROR, __file__, 1, message, values, caught)


def written(one: logging.LogRecord) -> dict[str, object]:
    text = LogFormatter().format(one)
    assert "\n" not in text
    return dict(json.loads(text))


def test_a_line_has_time_level_logger_and_message() -> None:
    line = written(record("the session of %s failed", "live/binance/BTC/USDT"))
    assert line.keys() == {"time", "level", "logger", "message"}
    assert line["message"] == "the session of live/binance/BTC/USDT failed" and line["level"] == "ERROR"
    assert str(line["time"]).endswith("+00:00")


def test_an_exception_is_told_without_its_text() -> None:
    line = written(record("it failed", failing=ValueError("cannot read holiday_in_cusco.csv")))
    assert line["error"] == "ValueError" and "test_logs.py" in str(line["at"])
    assert "holiday" not in json.dumps(line)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("redis://user:hunter2@host:6379/0 does not answer", "hunter2"),
        ("GET https://hooks.example/T0/send?token=hunter2&x=1", "hunter2"),
        ("cookie_secret = 'hunter2 and more'", "hunter2"),
        ("Authorization: Bearer hunter2", "hunter2"),
        ('{"client_secret": "hunter2"}', "hunter2"),
        ("ticket=hunter2", "hunter2"),
        ("could not read 'holiday in cusco.csv'", "cusco"),
        ('could not read "my weights (2).safetensors"', "weights"),
    ],
)
def test_secrets_and_names_of_uploads_are_left_out(text: str, secret: str) -> None:
    assert secret not in redacted(text) and redacted(text)


def test_what_is_no_secret_stays() -> None:
    lawful = "live/binance/BTC/USDT: 3 entries were trimmed", "https://api.binance.com/api/v3/depth 429", "tokens per second"
    assert tuple(map(redacted, lawful)) == lawful


def test_errors_are_counted_by_kind() -> None:
    counts = ErrorCounts()
    for one in (record("a"), record("b", failing=OSError()), record("c", failing=OSError())):
        counts.handle(one)
    found = {tuple(one.labels.values()): one.value for one in next(iter(counts.counts.collect())).samples if "_total" in one.name}
    assert found == {("error", "core.market.session", ""): 1, ("error", "core.market.session", "OSError"): 2}


@pytest.fixture
def own_logger(monkeypatch: pytest.MonkeyPatch) -> Iterator[logging.Logger]:
    logger = logging.getLogger("test.logs.own")
    logger.propagate = False
    logger.addHandler(logging.StreamHandler())
    level = logging.getLogger("core").level
    yield logger
    logger.handlers.clear()
    logging.getLogger("core").setLevel(level)
    logging.captureWarnings(False)
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, LogFormatter):
            handler.setFormatter(None)


@pytest.mark.parametrize(("setting", "structured"), [("json", True), ("", False)])
def test_the_setting_decides(own_logger: logging.Logger, monkeypatch: pytest.MonkeyPatch, setting: str, structured: bool) -> None:
    monkeypatch.setenv(logs.LOGS_VARIABLE, setting)
    logs.set_up()
    logs.set_up()
    (console,) = (one for one in own_logger.handlers if type(one) is logging.StreamHandler)
    assert isinstance(console.formatter, LogFormatter) is structured and own_logger.handlers.count(logs.ERRORS) == 1
