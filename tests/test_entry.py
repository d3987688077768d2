"""The entry point, imported as the server does it."""

import re
import subprocess
import sys
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

import _plotly_utils
import plotly
import pytest
from streamlit.testing.v1 import AppTest

import streamlit_app
from core.service import recordings
from core.vision import sight
from pages import openings
from pages.shared import assets, load_ahead, log_output

ROOT = Path(__file__).parents[1]


def test_what_plotly_looks_up_without_importing_is_whole_before_a_page_runs() -> None:
    """Two first visitors: one page's Plotly found `pandas` half imported by the other's, "has no attribute 'Series'"."""
    sources = [path for package in (plotly, _plotly_utils) for path in Path(str(package.__file__)).parent.rglob("*.py")]
    asked = {name for path in sources for name in re.findall(r'get_module\("([\w.]+)", should_load=False\)', path.read_text())}
    assert {"numpy", "pandas"} < asked
    there = sorted(name for name in asked if find_spec(name.partition(".")[0]))
    shown = f"import streamlit_app, sys; print(*[name for name in {there} if name not in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", shown], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    assert ran.stdout.strip() == ""


def test_a_refusal_that_a_page_does_not_expect_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OBSERVATORY_RECORDINGS", "s3://bucket/folder")
    app = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=60).run()
    app.switch_page("pages/markets/library.py").run()
    assert not app.exception
    (error,) = app.error
    assert error.value.startswith("OBSERVATORY_RECORDINGS is s3\\://bucket/folder, and the library is a folder of this machine")


def test_pages_openings_are_computed_one_by_one_until_somebody_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str] = []
    monkeypatch.setattr(recordings, "record_again", lambda: None)
    monkeypatch.setattr(load_ahead, "_begun", set())
    monkeypatch.setattr(openings, "OPENINGS", {name: partial(computed.append, name) for name in ("book", "film", "garment")})
    monkeypatch.setattr(assets, "visited", lambda: "film" in computed)
    streamlit_app.load()
    assert computed == ["book", "film"]
    load_ahead.load_in_turn(assets.opened, ["film", "garment"])  # the film's is computed once
    assert computed == ["book", "film", "garment"]


def test_the_address_is_told_once_pages_wait_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(recordings, "record_again", lambda: done.append("recordings"))
    monkeypatch.setattr(load_ahead, "_begun", set())
    monkeypatch.setattr(openings, "OPENINGS", {name: partial(done.append, name) for name in ("book", "film")})
    monkeypatch.setattr(assets, "visited", lambda: False)
    monkeypatch.setattr(log_output, "tell_address", lambda: done.append("address"))
    streamlit_app.load()
    assert done == ["recordings", "book", "film", "address"]


def test_the_address_is_told_where_something_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(streamlit_app, "import_module", told.append)
    monkeypatch.setattr(log_output, "tell_address", lambda: told.append("address"))
    with pytest.raises(AttributeError):  # of the first module that is used, which this import does not give
        streamlit_app.load()
    assert told[-2:] == ["core.service.recordings", "address"]


def test_until_somebody_comes_the_network_that_sees_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `/see` opens with is kept; its network, 92 MiB, is read again by who brings another picture."""
    reader = cache(object)
    monkeypatch.setattr(recordings, "record_again", lambda: None)
    monkeypatch.setattr(openings, "OPENINGS", {})
    monkeypatch.setattr(sight, "sight_reader", reader)
    reader()
    streamlit_app.load()
    assert reader.cache_info().currsize == 0
