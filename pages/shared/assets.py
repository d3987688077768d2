"""Files that the browser fetches besides Streamlit's own: our scripts and plotly.js under `/assets`, and each page's HTML.

All addresses are relative to the app's own, which may be a path of another server's.
"""

import gzip
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

import streamlit
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attention_light.scene import STYLE as VIEW_STYLE
from pages.shared.language import LANGUAGES, N_, translate_to
from pages.shared.load_ahead import load_ahead
from pages.shared.navigation import ENTRIES, NO_PAGE, base_path

SCRIPTS: Final = Path(__file__).resolve().parents[2] / "assets" / "scripts"
STYLES: Final = SCRIPTS.parent / "styles"
OF_EVERY_PAGE: Final = (
    "colours",
    "app",
    "streamlit",
    "live_plot",
    "home",
    "lesson",
    "recall",
    "matrix",
    "diagram",
    "terminal",
    "live_signs",
    "pictures",
    "writer",
    "lecture",
)
"""Style sheets in the HTML: they hold before the first element comes, so nothing moves when they would arrive."""
WIDGETS: Final = (
    "BidiComponent", "Button", "ButtonGroup", "Checkbox", "DownloadButton", "FileUploader", "Html", "ImageList", "Metric",
    "Multiselect", "NumberInput", "PageLink", "Progress", "Selectbox", "Slider", "TextArea", "TextInput",
    "withFullScreenWrapper",
)  # fmt: skip
"""Parts of Streamlit's script that most pages need, which it fetches when the first of a kind comes: fetched with the page, a
widget has its size at once, where it stood in for as a bar of another height until its part was there."""
FORMULAS: Final = ("katex", "rehype-katex")
"""The same for pages of the lecture."""
URLS: Final = frozenset(entry.url for entry in ENTRIES) | {NO_PAGE}
LESSONS: Final = frozenset(entry.url for entry in ENTRIES if entry.section == "Learn")
STREAMLIT: Final = Path(streamlit.__file__).parent / "static"
KATEX: Final = next((STREAMLIT / "static" / "js").glob("katex.*.js")).relative_to(STREAMLIT).as_posix()
"""Address of the script that draws formulas for Streamlit, and for ours."""
ADDRESS: Final = """window.__streamlit = { BACKEND_BASE_URL: new URL(".", location.href).href };
window.observatoryAddress = (path) => new URL(path, window.__streamlit.BACKEND_BASE_URL);"""
"""Streamlit and our scripts ask the app's address of the page; that of one of its files is relative to it."""
NOTICES: Final = {
    "lost": N_("The server is lost: the page goes on by itself when it is back."),
    "light": N_("It gets light here when the network has looked."),
    "starting": N_("The page is starting: the first one after a start takes a while."),
}
"""Sentences of the frame where no page can speak."""
COMPRESSIBLE: Final = (".js", ".css", ".svg", ".json")
MAX_COMPRESSED: Final = 400
"""Files kept compressed: more than Streamlit, plotly and we have."""


class Assets(StaticFiles):
    """Our scripts and plotly.js' flat plots. Addresses carry a version, so the browser may keep what it got."""

    def __init__(self, folder: Path = SCRIPTS) -> None:
        super().__init__(directory=folder)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, marked as never changing."""
        response = await super().get_response(path, scope)
        if response.status_code in (200, 304):
            kept = "public, max-age=31536000, immutable" if b"v=" in scope["query_string"] else "no-cache"
            response.headers["Cache-Control"] = kept  # a module that another one imports has no version in its address
        return response


class Compressed:
    """Sends files that never change, Streamlit's own too, as gzip; each is compressed once and kept.

    Streamlit leaves its files as they are, since it would compress them anew for every visitor: 6 MB for a page with a plot.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.kept: dict[str, tuple[dict[str, Any], ...]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer from what is kept, else pass the request on and keep the answer where it never changes."""
        fit = scope["type"] == "http" and scope["method"] == "GET" and scope["path"].endswith(COMPRESSIBLE)
        if not fit or ("/scripts/" in scope["path"] and b"v=" not in scope["query_string"]):
            await self.app(scope, receive, send)
            return
        asked = Headers(scope=scope)
        if "gzip" not in asked.get("accept-encoding", "") or "range" in asked or "if-none-match" in asked:
            await self.app(scope, receive, send)
            return
        if scope["path"] in self.kept:
            await _send_all(self.kept[scope["path"]], send)
            return
        start: Message | None = None
        body = b""

        async def collected(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and _never_changes(message):
                start = message
            elif start is None:
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body"):
                    await self._send_compressed(scope["path"], start, body, send)

        # what lies within may not compress it as well
        plain = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
        await self.app({**scope, "headers": plain}, receive, collected)

    async def _send_compressed(self, path: str, start: Message, body: bytes, send: Send) -> None:
        body = await run_in_threadpool(gzip.compress, body, mtime=0)
        headers = MutableHeaders(raw=start["headers"])
        headers["Content-Encoding"], headers["Content-Length"] = "gzip", str(len(body))
        headers.add_vary_header("Accept-Encoding")
        answer = {**start, "headers": headers.raw}, {"type": "http.response.body", "body": body}
        if len(self.kept) < MAX_COMPRESSED:
            self.kept[path] = answer
        await _send_all(answer, send)


async def _send_all(messages: tuple[dict[str, Any], ...], send: Send) -> None:
    """Send copies, as what lies around adds headers of its own."""
    for message in messages:
        await send(message | ({"headers": list(message["headers"])} if "headers" in message else {}))


def _never_changes(start: Message) -> bool:
    return start["status"] == 200 and "immutable" in Headers(raw=start["headers"]).get("cache-control", "")


class Pages:
    """Answers with our HTML wherever Streamlit sends its own: at each page's address, and at those that no page has."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and put ours in the place of Streamlit's HTML."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD") or "/component/" in scope["path"]:
            await self.app(scope, receive, send)
            return
        ours: Response | None = None

        async def replaced(message: Message) -> None:
            nonlocal ours
            if message["type"] == "http.response.start" and _is_page(message):
                ours = page_html(scope)
                await ours(scope, receive, send)
            elif ours is None:
                await send(message)

        # what a browser has kept of another app at this address counts for nothing
        headers = [(name, value) for name, value in scope["headers"] if name not in (b"if-none-match", b"if-modified-since")]
        html = "text/html" in Headers(scope=scope).get("accept", "")
        await self.app({**scope, "headers": headers} if html else scope, receive, replaced)


def _is_page(start: Message) -> bool:
    return start["status"] == 200 and Headers(raw=start["headers"]).get("content-type", "").startswith("text/html")


def page_html(scope: Scope) -> Response:
    """Streamlit's HTML with our style sheets, the frame's scripts and the app's address: the folder of the page's address.

    Without the address, whoever opens a link to `/system` has the browser try `/system/_stcore/health` and
    `/system/_stcore/host-config` first, and log a 404 for each. What no page has leads to the page that says so, answered 404.
    """
    path = scope["path"].removeprefix(scope.get("root_path", "")).removeprefix(base_path()).removeprefix("/")
    if path and path not in URLS:
        query = urlencode([*parse_qsl(scope["query_string"].decode("latin-1")), ("address", path)])
        return RedirectResponse("../" * path.count("/") + f"{NO_PAGE}?{query}")
    load_ahead(opened, [path])
    html = _page_html(WIDGETS + (FORMULAS if path in LESSONS else ()))
    return HTMLResponse(html, status_code=404 if path == NO_PAGE else 200, headers={"Cache-Control": "no-cache"})


def visited() -> bool:
    """Tells whether a browser has asked for a page since the server started."""
    return _page_html.cache_info().misses > 0


def opened(path: str) -> None:
    """Compute what a page opens with."""
    from pages.openings import OPENINGS  # here, as it imports the pages, which takes seconds

    if opening := OPENINGS.get(path):
        opening()


@cache
def _page_html(widgets: tuple[str, ...]) -> str:
    html = (STREAMLIT / "index.html").read_text(encoding="utf-8")
    parts = [file.relative_to(STREAMLIT) for name in widgets for file in (STREAMLIT / "static" / "js").glob(f"{name}.*.js")]
    links = "".join(f'    <link rel="modulepreload" crossorigin href="./{part.as_posix()}">\n' for part in parts)
    imports = "".join(f'import("./{part.as_posix()}");' for part in parts)
    words = {language: {key: translate_to(language, text) for key, text in NOTICES.items()} for language in LANGUAGES}
    scripts = f"window.observatoryWords = {json.dumps(words, ensure_ascii=False)};\n"
    scripts += "".join((SCRIPTS / name).read_text(encoding="utf-8") for name in ("theme.js", "frame.js"))
    styles = VIEW_STYLE + "".join(style(f"{name}.css") for name in OF_EVERY_PAGE)
    html = html.replace("</head>", f"{links}  </head>", 1).replace(
        "<head>", f"<head>\n    <script>{ADDRESS}</script>\n    <script>\n{scripts}    </script>", 1
    )
    # after Streamlit's own, which it writes into the head: of two equally exact rules the later one holds
    return html.replace("</body>", f"  <style>\n{styles}    </style>\n    <script type='module'>{imports}</script>\n  </body>", 1)


@cache
def style(name: str) -> str:
    """A style sheet of `assets/styles`."""
    return (STYLES / name).read_text(encoding="utf-8")


@cache
def script(name: str) -> str:
    """Address of one of our scripts, relative to the app's, with its digest as version."""
    return f"assets/scripts/{name}?v={hashlib.sha256((SCRIPTS / name).read_bytes()).hexdigest()[:12]}"


def imported(name: str) -> str:
    """JavaScript that imports one of our scripts, wherever the app stands."""
    return f'import(window.observatoryAddress("{script(name)}"))'


PLOTLY: Final = script("vendor/plotly-cartesian.min.js")
