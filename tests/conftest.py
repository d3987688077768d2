"""What all tests share: which are numeric, which Chromium the browser tests drive, and what a run prints."""

import asyncio
import gc
import inspect
import logging
import os
import re
import shutil
from collections.abc import Callable, Coroutine, Iterator
from functools import wraps
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from core import messages
from core.figures import style

# Neither how long an example takes nor chance decides whether a test passes: a busy machine is no fault of the code.
settings.register_profile("steady", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

style.CHECKED = True  # a property that plotly does not know is an error here, and in the app the browser passes over it

# the headless shell first: it draws no window of its own around the page, which saves a tenth of the processor time
CANDIDATES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
HOW = "no Chromium found: install one (apt-get install chromium-headless-shell) or set CHROMIUM=/path/to/it for the browser tests"


NUMERIC = re.compile(
    r"tests/(attention_light|core/(nn|models|explain|market|lecture|signs|vision))/"
    r"(?!feeds/|formats/|recordings/|store/|test_(equations|hub|pictures|provisional|recorder|video))"
)
"""Files whose tests hang on floating-point arithmetic: `make numeric` runs them under several instruction sets."""


def find_chromium() -> str | None:
    """CHROMIUM, else the first candidate on the path."""
    named = os.environ.get("CHROMIUM")
    return named or next((found for found in map(shutil.which, CANDIDATES) if found), None)


OUTSIDE_A_RUN = {
    "scriptrunner_utils.script_run_context": "missing ScriptRunContext",
    "caching.cache_data_api": "No runtime found",
    "state.session_state_proxy": "Session state does not function",
}
"""Streamlit's logger -> what it warns of whenever a page's function is called outside a run, as tests do."""

for _name, _text in OUTSIDE_A_RUN.items():
    logging.getLogger(f"streamlit.runtime.{_name}").addFilter(lambda record, text=_text: text not in record.msg)

MIN_WIDTH = 240
"""Columns of a run's last lines: those that say why a test failed are not cut where nobody reads them in a window."""


def in_a_loop(item: pytest.Function, run: Callable[[Coroutine[Any, Any, None]], None]) -> None:
    """Has a test that is a coroutine run so."""
    if inspect.iscoroutinefunction(test := item.obj):
        item.obj = wraps(test)(lambda **given: run(test(**given)))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Tests that are coroutines may take a minute."""
    in_a_loop(pyfuncitem, lambda test: asyncio.run(asyncio.wait_for(test, 60)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Runs before the list of failures is printed."""
    writer = config.get_terminal_writer()
    writer.fullwidth = max(writer.fullwidth, MIN_WIDTH)


def pytest_report_header() -> str:
    return f"browser: {find_chromium() or HOW}"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Imports and tests stay: looking for garbage among them takes a fifth of each worker's time until its first test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if NUMERIC.search(item.path.as_posix()):
            item.add_marker("numeric")
    if find_chromium() is None and os.environ.get("CI", "").lower() != "true":
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(pytest.mark.skip(reason=HOW))


LONG = ("tests/core/test_failing_calls.py", "tests/pages/test_closed_tabs.py", "tests/core/test_onnx_file.py")
"""Files of few tests that take long: xdist, which counts tests, would leave them to the end, where two of three workers wait."""


class ByFile(LoadScopeScheduling):
    """A worker takes whole files, so that a file starts its servers once; and all of the browser's who share one app."""

    @staticmethod
    def scope(nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return "tests/browser" if file.startswith("tests/browser/") else file

    _split_scope = scope

    def _assign_work_unit(self, node: WorkerController) -> None:
        first = next(filter(self.workqueue.__contains__, ("tests/browser", *LONG)), None)
        if first is not None:
            self.workqueue.move_to_end(first, last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    return ByFile(config, log)


@pytest.fixture(scope="module", autouse=True)
def _small_heap() -> None:
    """Takes what is there before a file's tests out of garbage collection.

    A worker holds the tests and all that they import. Whoever collects garbage in a loop, as torch's export does, took eight
    times as long there as in a process of its own.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def chromium_path() -> str:
    path = find_chromium()
    if path is None:
        pytest.fail(HOW, pytrace=False)
    return path


@pytest.fixture
def upper_case_translator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers a translator that answers in capitals and leaves `{gaps}` as they are."""
    monkeypatch.setattr(
        messages, "_translator", lambda text: re.sub(r"[^{}]+(?![^{]*})", lambda part: part.group().upper(), text)
    )
