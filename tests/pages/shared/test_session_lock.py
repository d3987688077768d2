"""The threads of one session take turns at its values, which Streamlit by itself does not see to."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest
from streamlit.runtime.state import SafeSessionState, SessionState

from pages.shared import session_lock


@pytest.fixture(autouse=True)
def quick_switches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads that take turns every ten microseconds, and Streamlit as it was afterwards."""
    monkeypatch.setattr(SafeSessionState, "__init__", SafeSessionState.__init__)
    session_lock.share_locks()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def opened(state: SessionState) -> SafeSessionState:
    """A run's hold on a session's values."""
    return SafeSessionState(state, lambda: None)


def test_one_run_reads_all_values_while_the_other_adds_some() -> None:
    state = SessionState()
    reader, writer = opened(state), opened(state)
    for number in range(300):
        writer[f"kept {number}"] = number
    ended = threading.Event()

    def write() -> None:
        while not ended.is_set():
            writer["new"] = 1
            del writer["new"]

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(300):
            assert len(reader.filtered_state) in (300, 301)
    finally:
        ended.set()
        thread.join()


def test_each_session_has_its_own_lock() -> None:
    one, other = SessionState(), SessionState()
    first, second, elsewhere = opened(one), opened(one), opened(other)
    locks = [vars(state)["_lock"] for state in (first, second, elsewhere)]
    assert locks[0] is locks[1] and locks[0] is not locks[2]
    session_lock.share_locks()
    assert vars(opened(one))["_lock"] is locks[0]
