"""Files that the browser fetches besides Streamlit's own: our scripts and plotly.js under `/assets`, and each page's HTML."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

import streamlit
from plotly.offline import get_plotlyjs_version
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

SCRIPTS: Final = Path(__file__).resolve().parents[2] / "assets" / "scripts"
STYLES: Final = SCRIPTS.parent / "styles"
PLOTLY: Final = f"/assets/plotly.min.js?v={get_plotlyjs_version()}"


class Assets(StaticFiles):
    """Both folders as one. Addresses carry a version, so the browser may keep what it got."""

    def __init__(self) -> None:
        super().__init__(directory=SCRIPTS, packages=[("plotly", "package_data")])

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, uncompressed: it travels over the loopback, and compressing 4.8 MB anew costs more than it saves."""
        response = await super().get_response(path, scope)
        if response.status_code in (200, 304):
            kept = "public, max-age=31536000, immutable" if b"v=" in scope["query_string"] else "no-cache"
            response.headers["Cache-Control"] = kept  # a module that another one imports has no version in its address
            response.headers["Content-Encoding"] = "identity"
        return response


def page_html(_request: object) -> HTMLResponse:
    """Streamlit's HTML, with `theme.js` and the server's address in it: the folder that the page's own address lies in.

    Without it, whoever opens a link to `/system` has the browser try `/system/_stcore/health` and `/system/_stcore/host-config`
    first, and log a 404 for each.
    """
    return HTMLResponse(_page_html(), headers={"Cache-Control": "no-cache"})


@cache
def _page_html() -> str:
    html = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    address = "<script>window.__streamlit = { BACKEND_BASE_URL: new URL('.', location.href).href }</script>"
    theme = (SCRIPTS / "theme.js").read_text(encoding="utf-8")
    return html.replace("<head>", f"<head>\n    {address}\n    <script>\n{theme}    </script>", 1)


@cache
def script(name: str) -> str:
    """Address of one of our scripts, with its digest as version."""
    return f"/assets/{name}?v={hashlib.sha256((SCRIPTS / name).read_bytes()).hexdigest()[:12]}"
