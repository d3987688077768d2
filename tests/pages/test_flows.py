"""The flows that docs/architecture.md lists function by function: a page's run enters these functions, in this order."""

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
import streamlit as st

from pages.shared.kept_results import forget_all
from tests.pages.open_page import open_page, ran

ROOT = Path(__file__).resolve().parents[2]


def listed(title: str) -> list[str]:
    """The functions of a flow: the numbered lines of its section."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    section = text.split(f"### {title}\n")[1].split("\n#")[0]
    return [name.replace(":", ".") for name in re.findall(r"^\d+\. `([\w.:]+)`", section, re.MULTILINE)]


@contextmanager
def entered() -> Iterator[list[str]]:
    """The project's functions that a page's runs enter meanwhile, each once, by the first call."""
    calls: dict[str, None] = {}

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if "ScriptRunner" not in threading.current_thread().name:  # what is computed ahead is no part of the run
            sys.setprofile(None)
            return
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(ROOT) and "site-packages" not in path.parts:
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            calls[f"{module}.{frame.f_code.co_qualname.replace('.<locals>', '')}"] = None

    names: list[str] = []
    threading.setprofile(note)
    try:
        yield names
    finally:
        threading.setprofile(None)
        names += calls


def holds(title: str, calls: list[str], *, most: int) -> None:
    flow = listed(title)
    assert 3 < len(flow) <= most
    assert [name for name in calls if name in flow] == flow


def test_a_photograph_to_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "page_link", lambda page, **told: None)  # a page that runs alone knows of no other one
    forget_all()
    with entered() as calls:
        open_page(ROOT / "pages/images/classify.py", photo="10")  # that which the page opens with is prepared beforehand
    holds("A photograph to its answer", calls, most=10)


def test_a_dial_to_its_figure() -> None:
    page = open_page(ROOT / "pages/learn/permutation.py")
    dial = page.button_group(key="heads")
    with entered() as calls:
        dial.set_value("4")
        ran(page)
    holds("A dial to its figure", calls, most=10)
