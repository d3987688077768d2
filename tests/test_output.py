"""What a run of the tests prints (no lines of others', and last the reason of each failure), and which worker runs what."""

import logging
from pathlib import Path

import pytest
import streamlit as st
from hypothesis import HealthCheck, settings

from tests.conftest import LONG, OUTSIDE_A_RUN, ByFile

pytest_plugins = ["pytester"]
ROOT = Path(__file__).resolve().parents[1]

FAILING = """
def test_that_fails():
    assert False, "a reason " * 12 + "and its end" + "\\nand a second line"
"""


def test_a_red_run_ends_with_its_reason_in_one_line(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("CI", "true")
    pytester.makepyprojecttoml((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pytester.makeconftest((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile(FAILING)
    reason, end = pytester.runpytest_inprocess("-p", "no:xdist").outlines[-2:]
    assert reason.startswith("FAILED ") and reason.endswith("a reason and its end"), reason
    assert "1 failed" in end


def test_the_browser_is_one_workers_and_each_other_file_one() -> None:
    scopes = {
        "tests/browser/test_live.py::test_a": "tests/browser",
        "tests/browser/test_shell.py::test_b[page]": "tests/browser",
        "tests/core/test_once.py::test_c[tests/browser/x]": "tests/core/test_once.py",
    }
    assert {nodeid: ByFile.scope(nodeid) for nodeid in scopes} == scopes
    assert all((ROOT / file).is_file() for file in LONG)


def test_no_property_fails_because_the_machine_is_busy() -> None:
    assert settings.default.deadline is None and settings.default.derandomize
    assert HealthCheck.too_slow in settings.default.suppress_health_check


def test_streamlit_says_nothing_of_calls_outside_a_run() -> None:
    said: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = said.append  # type: ignore[method-assign]
    loggers = [logging.getLogger(f"streamlit.runtime.{name}") for name in OUTSIDE_A_RUN]
    for logger in loggers:
        logger.addHandler(handler)
    st.cache_data(lambda: 1)()
    st.session_state.get("nothing")
    st.write("a word")
    for logger in loggers:
        logger.removeHandler(handler)
    assert [record.getMessage() for record in said] == []
