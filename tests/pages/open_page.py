"""Opens a page in Streamlit's own test runner, as a link would, and reads its words."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
"""Streamlit's test runner reads the metadata of all installed packages for each page that it opens: a third of a page's time."""


def open_page(page: Path | Callable[[], None], context: dict[str, str | None] | None = None, **query: str) -> AppTest:
    """The page, a file's or a function's, as a link with these parameters opens it; `context` is the browser's, of st.context."""
    app = AppTest.from_file(str(page), default_timeout=120) if isinstance(page, Path) else AppTest.from_function(page)
    app.context = context or app.context
    app.query_params.update(query)
    return ran(app)


def ran(app: AppTest) -> AppTest:
    """Run, and nothing went wrong."""
    app.run()
    assert not app.exception, app.exception[0].value
    return app


def press(app: AppTest, key: str) -> AppTest:
    """Press a button."""
    app.button(key=key).click()
    return ran(app)


def words(app: AppTest) -> str:
    """All text on the page, kind by kind, without its tags; the strips of values included."""
    kinds = (app.markdown, app.caption, app.get("html"), app.header, app.latex, app.warning, app.info, app.error, app.success)
    return " ".join(re.sub(r"<[^>]+>", " ", element.proto.body) for kind in kinds for element in kind)
