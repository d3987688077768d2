"""What the sign pages need when one of them runs alone."""

from typing import Any

import pytest
import streamlit as st


@pytest.fixture(autouse=True)
def page_links(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """Links to other pages by their file, as they are drawn: a page that runs alone knows of no other one to link to."""
    drawn: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(st, "page_link", lambda page, **told: drawn.append((page, told)))
    return drawn
