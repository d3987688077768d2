"""One lock for all script threads of a session.

A click starts a session's next run while the run before goes on to its next call of Streamlit (`runner.fastReruns`). Streamlit
1.67 gives each run's thread a lock of its own, so one reads the session's values while the other adds to them, and a widget
raises "dictionary changed size during iteration".
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from streamlit.runtime.state import SafeSessionState, SessionState

_plain = SafeSessionState.__init__
_locks: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""By the identity of the state, which lives as long as what holds its lock."""
_finding = threading.Lock()


def _with_the_sessions_lock(self: SafeSessionState, state: SessionState, yield_callback: Callable[[], None]) -> None:
    _plain(self, state, yield_callback)
    with _finding:
        object.__setattr__(self, "_lock", _locks.setdefault(id(state), threading.RLock()))


def share_locks() -> None:
    """Give the threads of a session one lock from now on; a second call changes nothing."""
    SafeSessionState.__init__ = _with_the_sessions_lock  # type: ignore[method-assign]
