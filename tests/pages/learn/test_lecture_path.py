"""The path of the lecture: where the links of a stop lead, and under which names they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from core.lecture.course import STOPS
from pages.learn import lecture_path
from pages.shared.language import prose_section
from pages.shared.navigation import entry_of


@dataclass(frozen=True)
class Link:
    file: str
    query: dict[str, str]
    label: str


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch) -> list[Link]:
    """Links that were written, in their order."""
    written: list[Link] = []

    def keep(file: str, query: Mapping[str, str], *, label: str, help: str | None = None, **_: Any) -> None:
        written.append(Link(file, dict(query), label))

    monkeypatch.setattr(lecture_path, "page_link", keep)
    return written


def test_a_link_holds_the_state_of_its_view_and_the_stop(links: list[Link]) -> None:
    stop = next(one for one in STOPS if one.code == "softmax")
    lecture_path.link(stop, label="softmax")
    wanted = {"part": "softmax", "draw": "trained", "dial": "t", "stop": str(STOPS.index(stop) + 1)}
    assert links == [Link(entry_of("attention-steps").file, wanted, "softmax")]


def test_views_stand_in_their_order_under_their_own_names(links: list[Link]) -> None:
    for number, stop in enumerate(STOPS, 1):
        links.clear()
        lecture_path.place(stop)
        names = prose_section("learn_course", f"{stop.code}_views").split(" · ") if len(stop.views) > 1 else []
        queries = [dict(view.query) | {"stop": str(number)} for view in stop.views]
        found = [one for one in links if one.label in names]
        assert [(one.label, one.query) for one in found] == list(zip(names, queries, strict=False))


def test_the_path_leads_from_stop_to_stop_and_back(links: list[Link]) -> None:
    for number, stop in enumerate(STOPS, 1):
        links.clear()
        lecture_path.place(stop)
        neighbours = [near for near in (number - 1, number + 1) if 1 <= near <= len(STOPS)]
        assert [int(one.query["stop"]) for one in links if one.label.isdigit()] == neighbours
        assert [int(one.label) for one in links if one.label.isdigit()] == neighbours
