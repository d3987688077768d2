"""The notebook that a lesson offers, without its button being pressed."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from core.lecture import notebooks
from pages.learn import take_along

Values = Callable[[], Mapping[str, Any]]


@pytest.fixture
def notebook_code(monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """Code of the notebook of the view drawn last."""
    offered: list[tuple[str, str, Values]] = []

    def keep(page: str, part: str, _title: str, values: Values | None) -> None:
        if values is not None:
            offered.append((page, part, values))

    def code() -> str:
        page, part, values = offered[-1]
        return notebooks.fill(notebooks.template(page, part), values())

    monkeypatch.setattr(take_along, "offer", keep)
    return code
