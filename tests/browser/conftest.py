"""A real Chromium against the real app. A test fails on any console error, foreign request or error in the server's log."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, CDPSession, ConsoleMessage, Error, Page, Request, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from core.market.store.places import FOLDER_VARIABLE
from tests.browser.reader import until_still
from tests.browser.server import ROOT, AppServer, serve

# Nothing else is excused. Each entry says why.
EXPECTED = (
    re.compile(r"WebGL"),  # software rendering tells so
    re.compile(r"WebSocket connection to .* failed"),  # a page closed while its socket was opening
)

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--disable-quic", "--disable-dev-shm-usage",
    "--renderer-process-limit=1",  # tabs of one profile share what Chromium has compiled: a fifth less time for a second one
]  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/browser/" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)


# Scoped to this package, because playwright holds an event loop in this thread while it runs, and other tests need theirs.
@pytest.fixture(scope="package")
def chromium(chromium_path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """The app itself, which records beside its log."""
    folder = tmp_path_factory.mktemp("app")
    with serve(ROOT / "streamlit_app.py", folder, environment={FOLDER_VARIABLE: str(folder / "recordings")}) as server:
        yield server


@pytest.fixture(scope="session")
def plots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """The small app with plots of `apps/plots.py`."""
    with serve(ROOT / "tests" / "browser" / "apps" / "plots.py", tmp_path_factory.mktemp("plots")) as server:
        yield server


class Watch:
    """Collects what goes wrong in pages and servers."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.servers: dict[str, tuple[AppServer, int]] = {}
        self.pages: list[Page] = []
        self.heard = {"console": self._console, "pageerror": self._page_error, "request": self._request}

    def page(self, page: Page) -> None:
        self.pages.append(page)
        for event, told in self.heard.items():
            page.on(event, told)

    def server(self, server: AppServer) -> None:
        self.servers.setdefault(server.url, (server, len(server.errors())))

    def check(self) -> None:
        for page, (event, told) in itertools.product(self.pages, self.heard.items()):
            if not page.is_closed():
                page.remove_listener(event, told)
        for server, before in self.servers.values():
            self.problems += [f"server log: {error}" for error in server.errors()[before:]]
        assert not self.problems, "\n".join(self.problems)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._add(f"console: {message.text} ({message.location.get('url', '')})")

    def _page_error(self, error: Error) -> None:
        self._add(f"page error: {error}")

    def _request(self, request: Request) -> None:
        if not re.match(r"(https?|wss?)://(localhost|127\.0\.0\.1)[:/]|data:|blob:|about:|file:", request.url):
            self._add(f"foreign request: {request.url}")

    def _add(self, problem: str) -> None:
        if not any(pattern.search(problem) for pattern in EXPECTED):
            self.problems.append(problem)


@pytest.fixture
def watch() -> Iterator[Watch]:
    watch = Watch()
    yield watch
    watch.check()


FORGET: Final = """() => {
  try {
    sessionStorage.clear();
    localStorage.clear();
  } catch {} // about:blank has none
}"""


class Tabs:
    """Tabs that are lent and come back: one opens a page in half the processor time that a new one takes.

    What a page left is cleared: its storage, history, routes, window and media. Whoever adds scripts to a tab closes it.
    """

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.profiles: dict[str, BrowserContext] = {}
        self.free: dict[str, list[Page]] = {}
        self.lent: dict[Page, tuple[str, CDPSession]] = {}

    def take(self, *, width: int = 1440, dark: bool = False, locale: str = "en-US", moving: bool = False) -> Page:
        """An empty tab of a visitor, who asked for less motion unless `moving`: Streamlit's placeholders move."""
        free = self.free.setdefault(locale, [])
        if free:
            page = free.pop()
        else:
            page = self._profile(locale).new_page()
            self.lent[page] = locale, page.context.new_cdp_session(page)
        page.set_viewport_size({"width": width, "height": 844 if width < 640 else 900})
        less = "no-preference" if moving else "reduce"
        page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion=less)
        return page

    def give_back(self, page: Page) -> None:
        locale, session = self.lent[page]
        try:
            page.evaluate(FORGET)
            page.context.clear_cookies()
            page.mouse.move(0, 0)
            page.unroute_all(behavior="ignoreErrors")
            page.goto("about:blank")
            session.send("Page.resetNavigationHistory")
        except Error:  # closed, or what failed has left it in no state to be lent
            page.close()
        else:
            self.free[locale].append(page)

    def close(self) -> None:
        for profile in self.profiles.values():
            profile.close()

    def _profile(self, locale: str) -> BrowserContext:
        """A browser's profile, kept for all tests: what one has fetched, the next need not fetch again."""
        if locale not in self.profiles:
            self.profiles[locale] = self.browser.new_context(locale=locale, accept_downloads=True)
            self.profiles[locale].set_default_timeout(60_000)
        return self.profiles[locale]


@pytest.fixture(scope="package")
def tabs(chromium: Browser) -> Iterator[Tabs]:
    tabs = Tabs(chromium)
    yield tabs
    tabs.close()


@pytest.fixture
def tab(tabs: Tabs) -> Iterator[Callable[..., Page]]:
    """Lends tabs with nothing in them to a test; what `watch` does with them, it decides."""
    lent: list[Page] = []

    def take(**visitor: Any) -> Page:
        lent.append(tabs.take(**visitor))
        return lent[-1]

    yield take
    for page in lent:
        tabs.give_back(page)


NewPage = Callable[..., Page]
SamePage = Callable[..., Page]


@pytest.fixture(scope="module")
def kept(tabs: Tabs) -> Iterator[dict[str, Page]]:
    """The page, if any, that the next test of a file may go on with, by the address it was opened at."""
    pages: dict[str, Page] = {}
    yield pages
    for page in pages.values():
        tabs.give_back(page)


@pytest.fixture
def new_page(tabs: Tabs, watch: Watch, kept: dict[str, Page]) -> Iterator[NewPage]:
    """Makes pages, each with a session of its own: `new_page(server, "/path", width=390, dark=True, locale="es-ES")`.

    What has to be there before the page is opened, `prepare` does; its tab is closed at the end.
    """
    pages: list[Page] = []

    def make(server: AppServer, path: str = "/", *, prepare: Callable[[Page], object] | None = None, **visitor: Any) -> Page:
        while kept:
            tabs.give_back(kept.popitem()[1])  # a page that goes on beside another costs both
        page = tabs.take(**visitor)
        pages.append(page)
        watch.server(server)
        watch.page(page)
        if prepare is not None:
            prepare(page)
            prepared.append(page)
        page.goto(server.url + path)
        settled(page)
        return page

    prepared: list[Page] = []
    yield make
    for page in prepared:
        page.close()
    for page in pages:
        if page not in kept.values():
            tabs.give_back(page)


@pytest.fixture
def same_page(new_page: NewPage, watch: Watch, kept: dict[str, Page]) -> SamePage:
    """The page that the test before left as it was opened, by a condition in JavaScript, or else a new one.

    After a test that leaves the page otherwise the next has one of its own.
    """

    def make(server: AppServer, path: str = "/", *, unchanged: str, **profile: Any) -> Page:
        address = f"{server.url}{path} {profile}"
        if address in kept and kept[address].evaluate(unchanged):
            watch.server(server)
            watch.page(kept[address])
        else:
            kept[address] = new_page(server, path, **profile)
        return kept[address]

    return make


@pytest.fixture
def page(new_page: NewPage, app: AppServer) -> Page:
    """The app's first page, for one visitor."""
    return new_page(app)


GO = "(to) => { history.pushState(null, '', to); dispatchEvent(new PopStateEvent('popstate')); }"
"""Opens another page of the app that is open, as the browser's own arrows do: a third of what loading the app again takes."""


def navigate(page: Page, section: str, title: str) -> None:
    """Open a page by the menu."""
    page.get_by_test_id("stTopNavSection").filter(has_text=section).click()
    page.get_by_test_id("stTopNavDropdownLink").filter(has_text=title).click()


def settled(page: Page) -> None:
    """Wait until a page has its title and the script has run to its end."""
    page.wait_for_selector("h1", timeout=60_000, state="attached")  # a frame hides it
    with contextlib.suppress(PlaywrightTimeout):  # a page that runs four times a second may have no pause on a slow machine
        page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=20_000, state="attached")


def assert_fits(page: Page) -> None:
    """Neither the page nor a plot on it is wider than the window, once what was resized is drawn."""
    conditions = {
        "the page scrolls sideways": "document.documentElement.scrollWidth <= document.documentElement.clientWidth",
        "a plot reaches past the window's right edge": (
            "[...document.querySelectorAll('.live-plot')].every((plot) => plot.getBoundingClientRect().right <= innerWidth)"
        ),
    }
    for otherwise, condition in conditions.items():
        try:
            page.wait_for_function(f"() => {condition}", timeout=15_000)
        except PlaywrightTimeout:
            raise AssertionError(otherwise) from None


HEIGHT: Final = "document.querySelector('[data-testid=stMain]').scrollHeight"
STREAMLITS: Final = ("list", "listitem", "presentation-role-conflict", "region", "target-size")
"""Rules that Streamlit's own elements break."""
AXE: Final = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "rules": {rule: {"enabled": False} for rule in STREAMLITS},
    "resultTypes": ["violations"],
}

CONTRAST: Final = """
const contrast = axe._audit.checks["color-contrast"];
contrast.options = { ...contrast.options, ignorePseudo: true };
"""
"""Texts under pseudo-elements are measured too: looking for them, to leave them out, takes a third of axe-core's time."""


def assert_accessible(page: Page) -> None:
    """axe-core finds nothing wrong, but what Streamlit's own elements do."""
    until_still(page, HEIGHT)  # formulas are looked at after a change of width
    settled(page)  # what waits for its run to end is drawn pale
    page.evaluate("document.querySelector('[data-testid=stMain]').scrollTo(0, 0)")  # nothing lies half below the menu
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script + CONTRAST)
    violations = page.evaluate("async (options) => (await axe.run(document, options)).violations", AXE)
    wrong: dict[str, list[str]] = {}
    for rule in violations:
        nodes = [node["html"][:200] for node in rule["nodes"]]
        if (
            rule["id"] == "scrollable-region-focusable"
        ):  # a table of Streamlit's own takes no focus where it is wider than a phone
            nodes = [html for html in nodes if not html.startswith('<div class="st-emotion-cache-')]
        if nodes:
            wrong[rule["id"]] = nodes[:3]
    assert not wrong, wrong
