"""What the tests of pages share: who opens them."""

import pytest

from core.service.access import Role, Visitor
from pages.shared import permissions


@pytest.fixture
def role() -> Role:
    """Who opens the page; a test that parametrises it is another."""
    return Role.OPERATOR


@pytest.fixture(autouse=True)
def visitor(role: Role, monkeypatch: pytest.MonkeyPatch) -> Visitor:
    """Streamlit's test runner has no connection, of which nothing would be known."""
    made = Visitor(id="tab", role=role)
    monkeypatch.setattr(permissions, "visitor", lambda: made)
    return made
