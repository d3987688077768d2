"""Streamlit's sign-in against an OpenID provider on this machine: who may change the machine, and who may not."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from core.service.access import USERS_VARIABLE
from tests.browser.conftest import Watch
from tests.browser.server import ROOT, AppServer, free_port, serve

with warnings.catch_warnings():
    # authlib says that the provider uses parts of it that will move; imported first, since it sets a filter of its own
    importlib.import_module("authlib.deprecate")
    warnings.simplefilter("ignore", DeprecationWarning)
    from oidc_provider_mock import User, run_server_in_thread

TEACHER = "teacher@class.example"
CLOSED = "Closed here: recording, and ending a recording;"


@pytest.fixture
def closed_app(tmp_path: Path) -> Iterator[AppServer]:
    """The app with a sign-in, and one person on its list."""
    with run_server_in_thread(user_claims=[User(sub=TEACHER, claims={"email": TEACHER})]) as provider:
        port = free_port()
        (tmp_path / "secrets.toml").write_text(
            "[auth]\n"
            f'redirect_uri = "http://localhost:{port}/oauth2callback"\n'
            'cookie_secret = "no secret at all"\nclient_id = "observatory"\nclient_secret = "none"\n'
            f'server_metadata_url = "http://localhost:{provider.server_port}/.well-known/openid-configuration"\n'
        )
        variables = {"STREAMLIT_SECRETS_FILES": str(tmp_path / "secrets.toml"), USERS_VARIABLE: TEACHER}
        with serve(ROOT / "streamlit_app.py", tmp_path, port=port, environment=variables) as server:
            yield server


def sign_in(page: Page, email: str) -> None:
    page.get_by_role("button", name="Sign in").click()
    page.locator("input[name=sub]").fill(email)
    page.get_by_role("button", name="Authorize").click()
    expect(page.get_by_text(email)).to_be_visible(timeout=60_000)


def test_who_is_on_the_list_signs_in_and_may_change_the_machine(
    closed_app: AppServer, tab: Callable[..., Page], watch: Watch
) -> None:
    watch.server(closed_app)
    page = tab()  # unwatched: the provider's own pages ask for a style sheet
    page.route("https://**", lambda route: route.abort())
    page.goto(f"{closed_app.url}/recordings")
    expect(page.get_by_text(re.compile(f"{CLOSED}.*Sign in first, at the top"))).to_be_visible(timeout=60_000)
    sign_in(page, TEACHER)
    page.goto(f"{closed_app.url}/recordings")
    expect(page.locator("input[type=file]")).to_be_attached(timeout=60_000)
    expect(page.get_by_text(CLOSED)).to_have_count(0)
