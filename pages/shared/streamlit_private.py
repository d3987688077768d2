"""All that is used of Streamlit besides its documented interface, in one place; a test names a release that breaks it.

Of 1.67. Names of its files and of the parts of its page stand in `assets.py` and the style sheets.
"""

import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

import uvicorn.config
from streamlit import delta_generator, net_util, string_util
from streamlit.runtime import Runtime
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state import SafeSessionState, SessionState

_plain = SafeSessionState.__init__
_leading_emoji = string_util.extract_leading_emoji
_locks: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""By the identity of the state, which lives as long as what holds its lock."""
_finding = threading.Lock()


def this_run() -> object | None:
    """An object of this thread's run of a page alone; None outside of one."""
    run = get_script_run_ctx(suppress_warning=True)
    return None if run is None else run.cursors  # each run has new ones


def tab() -> str:
    """Id of the browser tab whose page runs here."""
    run = get_script_run_ctx()
    return "nobody" if run is None else run.session_id


def page() -> str:
    """Hash of the page that runs here, which no other page of the app has."""
    run = get_script_run_ctx()
    return "" if run is None else run.page_script_hash


def take_pages_from_navigation() -> None:
    """Have Streamlit take no page from the folder `pages/`.

    It treats an app with such a folder as one without st.navigation until that first runs, and shows the first visitor after a
    start that a linked page does not exist.
    """
    PagesManager.uses_pages_directory = False


def keep_addresses() -> None:
    """Have the server hand requests on with the other end's own address, before it wraps the app.

    Uvicorn, as Streamlit starts it, takes the address of `X-Forwarded-For` from whatever asks from this machine; which proxy's
    counts is the operator's to name (D49).
    """
    uvicorn.config.ProxyHeadersMiddleware = lambda app, trusted_hosts: app  # type: ignore[assignment,attr-defined,misc]


def ask_nobody() -> None:
    """Have Streamlit ask no server of the internet for this machine's own address, which it does to print it at the start."""
    net_util.get_external_ip = lambda: None


def look_for_no_prompt() -> None:
    """Have Streamlit not look whether it runs in a Python prompt, which takes .2 s of the first visit after a start."""
    delta_generator._use_warning_has_been_displayed = True


def look_for_no_emoji_in_letters() -> None:
    """Have Streamlit load its list of emojis for no label that begins with a letter, as "Español" does on every page.

    Its expression over all emojis takes a second of processor time, which the first visit after a start waits for.
    """
    string_util.extract_leading_emoji = _emoji_before_letters


def _emoji_before_letters(text: str) -> tuple[str, str]:
    return ("", text) if text[:1].isalpha() and text < "\u0250" else _leading_emoji(text)  # Latin letters: none is an emoji


def _with_the_sessions_lock(self: SafeSessionState, state: SessionState, yield_callback: Callable[[], None]) -> None:
    _plain(self, state, yield_callback)
    with _finding:
        object.__setattr__(self, "_lock", _locks.setdefault(id(state), threading.RLock()))


def share_locks() -> None:
    """Give the script threads of a session one lock from now on; a second call changes nothing.

    A click starts a session's next run while the run before goes on to its next call of Streamlit (`runner.fastReruns`). Each
    run's thread has a lock of its own, so one reads the session's values while the other adds to them, and a widget raises
    "dictionary changed size during iteration".
    """
    SafeSessionState.__init__ = _with_the_sessions_lock  # type: ignore[method-assign]


def expire_closed_tabs() -> bool:
    """Drop the sessions of closed tabs whose time to come back is over; tells whether there were any.

    Streamlit drops one that has expired only as the next tab closes, which may be never.
    """
    manager: Any = Runtime.instance()._session_mgr
    return bool(manager._session_storage._cache.expire())


def held_uploads() -> dict[str, int]:
    """Bytes that Streamlit keeps of each tab's uploads; it gives them to the tab's own page alone."""
    if not Runtime.exists():
        return {}
    storage: dict[str, dict[str, Any]] = Runtime.instance().uploaded_file_mgr.file_storage  # type: ignore[attr-defined]
    return {tab: sum(len(one.data) for one in list(files.values())) for tab, files in list(storage.items())}


def forget_upload(file_id: str) -> None:
    """Remove one of this tab's uploads, as the browser does where a widget takes another file in its place."""
    if Runtime.exists():
        Runtime.instance().uploaded_file_mgr.remove_file(tab(), file_id)  # type: ignore[attr-defined]


def run_again(tab: str) -> None:
    """Run a tab's page again, the one it is on, as after a change of a widget: no documented call does it from outside a run."""
    info = Runtime.instance()._session_mgr.get_active_session_info(tab) if Runtime.exists() else None
    if info is not None:
        info.session.request_rerun(info.session._client_state)


def came_by(tab: str) -> tuple[dict[str, str], str] | None:
    """Headers, by lower-case name, and peer of a tab's connection; None where it has none. `st.context` knows the run's own."""
    client = Runtime.instance().get_client(tab) if Runtime.exists() else None
    known = client.client_context if client is not None else None
    return None if known is None else ({name.lower(): value for name, value in known.headers}, known.remote_ip or "")
