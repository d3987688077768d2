"""The process's log: one JSON object a line where `OBSERVATORY_LOGS=json`, without secrets and without names of uploads.

An exception is told by its type and by where in the code it was raised. Its text is left out, since it may name what a visitor
brought. Addresses lose their user, password and query, and `name=value` pairs that sound like secrets their value.
"""

import logging
import os
import re
import traceback
from typing import Any, Final

from prometheus_client import Counter
from pythonjsonlogger.json import JsonFormatter

import core

LOGS_VARIABLE: Final = "OBSERVATORY_LOGS"
"""Environment variable: "json" for structured logs."""
MAX_FRAMES: Final = 8
HIDDEN: Final = "***"
_ADDRESS: Final = re.compile(r"(\b[a-z][a-z0-9+.-]*://)(?:[^\s/@]*@)?([^\s?#'\"]*)(?:[?#][^\s'\"]*)?", re.IGNORECASE)
_SECRET: Final = re.compile(
    r"(\b\w*(?:secret|password|passwd|token|ticket|api[_-]?key|authorization|cookie)\w*['\"]?\s*[=:]\s*)"
    r"(?:(?:bearer|basic)\s+)?(?:'[^']*'|\"[^\"]*\"|[^\s,;&]+)",
    re.IGNORECASE,
)
_FILE: Final = re.compile(r"(['\"])[^'\"\n]*[\w)]\.[A-Za-z0-9]{2,12}\1")


def wants_json() -> bool:
    """Tells whether logs are to be JSON, by the environment."""
    return os.environ.get(LOGS_VARIABLE, "").strip().lower() == "json"


def redacted(text: str) -> str:
    """Text without what an address or a setting keeps secret, and without quoted names of files."""
    return _FILE.sub(rf"\1{HIDDEN}\1", _SECRET.sub(rf"\1{HIDDEN}", _ADDRESS.sub(r"\1\2", text)))


class LogFormatter(JsonFormatter):
    """A record as JSON: `time` (UTC), `level`, `logger`, `message`; of an exception its type, `error`, and its frames, `at`."""

    def __init__(self) -> None:
        super().__init__("%(message)s", rename_fields={"levelname": "level", "name": "logger"}, timestamp="time")

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        """See `JsonFormatter`."""
        log_data |= {"level": record.levelname, "logger": record.name}
        super().add_fields(log_data, record, {"message": redacted(record.getMessage())})
        log_data["message"] = redacted(record.getMessage())
        for dropped in ("exc_info", "exc_text", "stack_info", "color_message"):
            log_data.pop(dropped, None)
        if record.exc_info and record.exc_info[0] is not None:
            frames = traceback.extract_tb(record.exc_info[2])[-MAX_FRAMES:]
            log_data["error"] = record.exc_info[0].__name__
            log_data["at"] = [f"{'/'.join(f.filename.split('/')[-3:])}:{f.lineno} {f.name}" for f in frames]


class ErrorCounts(logging.Handler):
    """Counts warnings and errors by level, logger and kind of exception, for the metrics."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        about = "Warnings and errors logged, by kind of exception."
        self.counts = Counter("observatory_errors", about, ["level", "logger", "kind"], registry=None)

    def emit(self, record: logging.LogRecord) -> None:
        """Count one."""
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        self.counts.labels(record.levelname.lower(), record.name, kind).inc()


ERRORS: Final = ErrorCounts()
"""The process's."""


def set_up() -> None:
    """Count what is logged from here on, and write it as the environment asks; may be called again."""
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(logging.StreamHandler())
    loggers = [root, *(one for one in logging.Logger.manager.loggerDict.values() if isinstance(one, logging.Logger))]
    for logger in loggers:
        own = not logger.propagate or logger is root
        if own and ERRORS not in logger.handlers:
            logger.addHandler(ERRORS)
        for handler in logger.handlers if wants_json() else ():
            if isinstance(handler, logging.StreamHandler):
                handler.setFormatter(LogFormatter())
    if wants_json():
        logging.getLogger(core.__name__).setLevel(logging.INFO)
        logging.captureWarnings(True)
