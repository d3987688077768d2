"""Every action of the table by a raw client: the functions that pages call, asked by each role, without any page.

What lies below is replaced by a note that it was reached, so that a refusal is known to come before anything is done.
"""

import ast
import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

from core.service import access, health, recordings
from core.service.access import RIGHTS, Action, NotAllowed, Role, Visitor
from pages.shared.navigation import ROOT

ROLES = (Role.STRANGER, Role.SIGNED_IN, Role.OPERATOR)
SENTINEL = cast(Any, object())
ENTRY = cast(Any, SimpleNamespace(bundled=False))
BUNDLED = cast(Any, SimpleNamespace(bundled=True))


CASES: list[tuple[str, Action, Callable[[Visitor], object]]] = [
    ("limit", Action.CHANGE, lambda by: recordings.limit(by, 5)),
    ("record", Action.RECORD, lambda by: recordings.start(by, "live/x/y", SENTINEL)),
    ("stop recording", Action.RECORD, lambda by: recordings.stop(by, "live/x/y")),
    ("delete", Action.CHANGE, lambda by: recordings.delete(by, [ENTRY])),
    ("export", Action.EXPORT, lambda by: recordings.export(by, ENTRY)),
    ("export what came with the app", Action.WATCH, lambda by: recordings.export(by, BUNDLED)),
    ("inspect", Action.CONVERT, lambda by: recordings.inspect(by, {"a": Path("a")})),
    ("convert", Action.CONVERT, lambda by: recordings.convert(by, {"a": Path("a")}, "new", NOTED, market="m")),
    ("metrics", Action.READ_METRICS, health.metrics),
]


NOTED = MagicMock()
"""Anything at all, which notes what is asked of it."""


@pytest.fixture(autouse=True)
def below(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that the functions carry out."""
    NOTED.reset_mock()
    for closed in (recordings.start, recordings.stop, recordings.inspect):
        monkeypatch.setattr(closed, "unguarded", NOTED)
    for module, names in {
        recordings: ("RECORDER", "changes.delete", "changes.export", "watch_list.limit", "watch_list.make_room"),
        recordings.bounded: ("convert",),
        health: ("generate_latest",),
    }.items():
        for name in names:
            owner, _, last = name.rpartition(".")
            monkeypatch.setattr(getattr(module, owner) if owner else module, last, NOTED)
    monkeypatch.setattr(recordings, "library_folder", lambda: NOTED.library_folder() and Path("library"))


@pytest.mark.parametrize(("action", "act"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
@pytest.mark.parametrize("role", ROLES)
def test_the_table_decides_before_anything_is_done(role: Role, action: Action, act: Callable[[Visitor], object]) -> None:
    by = Visitor(id="tab", role=role)
    if role in RIGHTS[action].roles:
        act(by)
        assert NOTED.mock_calls
    else:
        with pytest.raises(NotAllowed, match="^Closed here: "):
            act(by)
        assert not NOTED.mock_calls


def asking(module: ModuleType) -> set[str]:
    """Names of a module's own functions that take the visitor."""
    prefix = module.__name__.rpartition(".")[2]
    return {
        f"{prefix}.{name}"
        for name, function in vars(module).items()
        if isinstance(function, access.Closed)
        or (inspect.isfunction(function) and "by" in inspect.signature(function).parameters and name[0] != "_")
    }


def test_every_function_that_asks_who_it_is_and_every_action_is_tried() -> None:
    modules = (recordings, health)
    names = set[str]().union(*(asking(module) for module in modules))
    source = Path(__file__).read_text(encoding="utf-8")
    own = {"recordings.running", "health.health"}  # which leave out what is no business of the visitor
    assert {name for name in names - own if name not in source} == set() and len(names) >= 9
    assert set(Action) - {case[1] for case in CASES} == {Action.BRING}  # which everybody may
    assert recordings.running(Visitor(id="a", role=Role.STRANGER)) == [] and not NOTED.mock_calls


BELOW = {
    "core.market.watch_list.limit",
    *("core.market.store.changes", "core.market.background_recorder.RECORDER"),
    *(f"core.market.formats.{module}.{name}" for module in ("bounded", "conversion") for name in ("inspect", "convert")),
}
"""What carries an action out. Pages ask `core.service` for it."""


@pytest.mark.parametrize("path", sorted((ROOT / "pages").rglob("*.py")), ids=lambda path: path.stem)
def test_no_page_reaches_below_the_functions_that_ask(path: Path) -> None:
    used: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            used |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            used |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    assert not used & BELOW
    text = path.read_text(encoding="utf-8")
    assert ".unguarded" not in text


def test_the_table_is_one() -> None:
    """`RIGHTS` is the only place that says which role may what."""
    for path in sorted((ROOT / "core").rglob("*.py")) + sorted((ROOT / "pages").rglob("*.py")):
        if path != Path(access.__file__):
            assert "Role." not in path.read_text(encoding="utf-8"), path
