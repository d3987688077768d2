"""What is used of Streamlit besides its documented interface is there and does as we need; else a test names the release."""

import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit
import uvicorn
from streamlit import delta_generator, env_util, string_util
from streamlit.emojis import ALL_EMOJIS
from streamlit.runtime import Runtime
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.state import SafeSessionState, SessionState
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.testing.v1 import AppTest
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from pages.shared import streamlit_private
from pages.shared.assets import FORMULAS, STREAMLIT, WIDGETS
from tests.test_docs import ROOT


@pytest.fixture(autouse=True)
def quick_switches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads that take turns every ten microseconds, and Streamlit as it was afterwards."""
    monkeypatch.setattr(SafeSessionState, "__init__", SafeSessionState.__init__)
    streamlit_private.share_locks()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def test_the_server_hands_on_the_other_ends_own_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uvicorn.config, "ProxyHeadersMiddleware", ProxyHeadersMiddleware)

    async def app(scope: object, receive: object, send: object) -> None:
        raise AssertionError

    def served() -> object:
        config = uvicorn.Config(app, interface="asgi3")
        config.load()
        return config.loaded_app

    assert served() is not app  # as it is without us
    streamlit_private.keep_addresses()
    assert served() is app


def test_a_label_of_letters_needs_no_list_of_emojis(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = streamlit_private._leading_emoji
    monkeypatch.setattr(string_util, "extract_leading_emoji", plain)
    streamlit_private.look_for_no_emoji_in_letters()
    for text in (*(f"{emoji} Fool it" for emoji in ALL_EMOJIS), "1\ufe0f\u20e3", "\u2139 info", "¿Por qué?", "Español", "Épocas"):
        assert string_util.extract_leading_icon(text) == plain(text), text
    monkeypatch.setitem(sys.modules, "streamlit.emojis", None)
    assert string_util.extract_leading_icon("Español") == ("", "Español")


def test_the_first_element_looks_for_no_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_generator, "_use_warning_has_been_displayed", False)
    looked: list[bool] = []
    monkeypatch.setattr(env_util, "is_repl", lambda: looked.append(True))
    streamlit_private.look_for_no_prompt()
    AppTest.from_string("import streamlit as st; st.write(1)").run()
    assert not looked


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
    streamlit_private.share_locks()
    assert vars(opened(one))["_lock"] is locks[0]


BROKEN = f"Streamlit {streamlit.__version__} has changed"


def test_its_folder_of_pages_counts_until_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "uses_pages_directory" in vars(PagesManager), f"{BROKEN} PagesManager.uses_pages_directory"
    monkeypatch.setattr(PagesManager, "uses_pages_directory", None)
    streamlit_private.take_pages_from_navigation()
    assert PagesManager.uses_pages_directory is False


def test_sessions_uploads_and_connections_are_where_they_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a runtime that does not run; `test_closed_tabs` and `test_sign_in` look at one that does."""
    monkeypatch.setattr(Runtime, "exists", lambda: True)

    class Session:
        def __init__(self) -> None:
            self._client_state, self.again = "the page it is on", list[str]()

        def request_rerun(self, state: str) -> None:
            self.again.append(state)

    class Context:
        headers, remote_ip = (("Host", "desk.example"),), "10.0.0.7"

    session = Session()
    uploads = MemoryUploadedFileManager("/upload")
    manager = type("Manager", (), {"_session_storage": MemorySessionStorage(), "get_active_session_info": None})()
    manager.get_active_session_info = {"tab": type("Info", (), {"session": session})}.get
    running = type("Running", (), {"_session_mgr": manager, "uploaded_file_mgr": uploads, "get_client": None})()
    running.get_client = {"tab": type("Client", (), {"client_context": Context})}.get
    monkeypatch.setattr(Runtime, "instance", lambda: running)

    assert streamlit_private.expire_closed_tabs() is False, f"{BROKEN} MemorySessionStorage._cache"
    assert streamlit_private.held_uploads() == {}, f"{BROKEN} MemoryUploadedFileManager.file_storage"
    uploads.add_file("nobody", UploadedFileRec(file_id="film", name="film.mp4", type="video/mp4", data=b"123"))
    assert streamlit_private.held_uploads() == {"nobody": 3}
    streamlit_private.forget_upload("film")
    assert streamlit_private.held_uploads() == {"nobody": 0}, f"{BROKEN} MemoryUploadedFileManager.remove_file"
    assert streamlit_private.came_by("tab") == ({"host": "desk.example"}, "10.0.0.7") and streamlit_private.came_by("x") is None
    streamlit_private.run_again("tab")
    streamlit_private.run_again("another")
    assert session.again == ["the page it is on"]


def test_a_run_tells_itself_its_tab_and_its_page() -> None:
    """A run of the whole page, its part, a run of another tab, and no run."""

    def page() -> None:
        import streamlit as st

        from pages.shared import streamlit_private

        def note() -> None:
            run = streamlit_private.this_run()
            kept = (run is streamlit_private.this_run(), streamlit_private.tab(), streamlit_private.page())
            st.session_state.setdefault("runs", []).append((*kept, run))

        note()

        @st.fragment
        def part() -> None:
            st.button("again")
            note()

        part()

    app, other = AppTest.from_function(page).run(), AppTest.from_function(page).run()
    app.button[0].click().run()
    first, within, *_rest = app.session_state["runs"]
    elsewhere = other.session_state["runs"][0]
    assert first[0] and first[3] is within[3] and first[3] is not elsewhere[3], f"{BROKEN} ScriptRunContext.cursors"
    assert first[1] and first[1] == within[1], f"{BROKEN} ScriptRunContext.session_id"
    assert first[2] and first[2] == within[2], f"{BROKEN} ScriptRunContext.page_script_hash"
    assert (streamlit_private.this_run(), streamlit_private.tab(), streamlit_private.page()) == (None, "nobody", "")


def test_nothing_private_of_streamlit_stands_elsewhere() -> None:
    told = re.compile(
        r"streamlit\.runtime|get_script_run_ctx|\._(session_mgr|client_state|session_storage)|SafeSessionState|PagesManager|_is_origin_allowed|file_storage"
    )
    product = [ROOT / "streamlit_app.py", *(ROOT / "pages").rglob("*.py"), *(ROOT / "core").rglob("*.py")]
    assert [path.name for path in product if told.search(path.read_text(encoding="utf-8"))] == ["streamlit_private.py"]


PART = re.compile(r"""data-testid=["'](st[\w-]+)|\.(st[A-Z]\w*)""")
"""A name that Streamlit gives a part of its page."""


def parts(*files: Path) -> set[str]:
    """Names of parts of Streamlit's page that files hold."""
    return {id or name for file in files for id, name in PART.findall(file.read_text(encoding="utf-8"))}


def test_parts_of_its_page_are_named_in_one_sheet_and_one_script_and_it_has_them() -> None:
    sheets, scripts = (ROOT / "assets" / "styles").glob("*.css"), (ROOT / "assets" / "scripts").glob("*.js")
    named = [file for file in (*sheets, *scripts) if parts(file)]
    assert {file.name for file in named} == {"streamlit.css", "frame.js"}
    of_streamlit = "".join(file.read_text(encoding="utf-8") for file in (STREAMLIT / "static" / "js").glob("*.js"))
    gone = [name for name in parts(*named) if not re.search(rf"[`'\"]{name}\b", of_streamlit) and "stBaseButton-" not in name]
    assert not gone, f"{BROKEN} the names of {gone}"
    assert "stBaseButton" in of_streamlit, f"{BROKEN} the names of its buttons"


def test_its_page_has_the_places_where_styles_and_scripts_are_written() -> None:
    html = (STREAMLIT / "index.html").read_text(encoding="utf-8")
    assert [html.count(place) for place in ("<head>", "</head>", "</body>")] == [1, 1, 1], f"{BROKEN} index.html"


@pytest.mark.parametrize("name", [*WIDGETS, *FORMULAS])
def test_its_script_has_the_part_that_pages_fetch_ahead(name: str) -> None:
    """One that is gone is fetched late, and nothing else: `page_html` leaves it out."""
    assert list((STREAMLIT / "static" / "js").glob(f"{name}.*.js")), f"{BROKEN} the part {name} of its script"
