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
OURS = tuple(f"{ROOT / folder}/" for folder in ("attention_light", "core", "pages"))


def section(title: str) -> str:
    """Of the document, what it says of a flow."""
    return (ROOT / "docs/architecture.md").read_text(encoding="utf-8").split(f"### {title}\n")[1].split("\n#")[0]


def listed(title: str) -> list[str]:
    """The functions of a flow on the server: the numbered lines of its section."""
    found = re.findall(r"^\d+\. `((?:attention_light|core|pages)\.[\w.:]+)`", section(title), re.MULTILINE)
    return [name.replace(":", ".") for name in found]


@contextmanager
def entered(thread: str = "") -> Iterator[list[str]]:
    """The project's functions as they are called meanwhile, in threads of a name with this in it."""
    calls: list[str] = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        path = frame.f_code.co_filename
        if thread not in threading.current_thread().name:
            sys.setprofile(None)
        elif event == "call" and path.startswith(OURS):
            module = ".".join(Path(path).relative_to(ROOT).with_suffix("").parts)
            calls.append(f"{module}.{frame.f_code.co_qualname.replace('.<locals>', '')}")

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def holds(title: str, calls: list[str], *, most: int) -> None:
    flow = listed(title)
    assert 3 < len(flow) <= most
    assert [name for name in dict.fromkeys(calls) if name in flow] == flow


def test_a_photograph_to_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "page_link", lambda page, **told: None)  # a page that runs alone knows of no other one
    forget_all()
    with entered("ScriptRunner") as calls:  # what is computed ahead is no part of the run
        open_page(ROOT / "pages/images/classify.py", photo="10")  # that which the page opens with is prepared beforehand
    holds("A photograph to its answer", calls, most=10)


def test_a_dial_to_its_figure() -> None:
    page = open_page(ROOT / "pages/learn/permutation.py")
    dial = page.button_group(key="heads")
    with entered("ScriptRunner") as calls:  # what is computed ahead is no part of the run
        dial.set_value("4")
        ran(page)
    holds("A dial to its figure", calls, most=10)
