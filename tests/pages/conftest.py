"""What the tests of pages share: who opens them."""

from functools import cache

import pytest
from streamlit.components.v2 import manifest_scanner

from core.service.access import Role, Visitor
from pages.shared import permissions

manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
"""Streamlit's test runner reads the metadata of all installed packages for each page that it opens: a third of a page's time."""


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
