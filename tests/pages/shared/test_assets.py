"""What the browser gets besides Streamlit's own files."""

import asyncio
import gzip
import re
from pathlib import Path

import pytest
import streamlit
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.routing import Mount
from starlette.types import Message, Receive, Scope, Send

from pages.shared.assets import OF_EVERY_PAGE, SCRIPTS, WIDGETS, Assets, Compressed, page_html, script, style

STREAMLIT = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")


def test_a_pages_html_is_streamlits_with_the_servers_address_and_the_theme_before_its_scripts() -> None:
    answer = page_html({"type": "http", "path": "/live"})
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/html")
    assert answer.headers["cache-control"] == "no-cache"
    head, address, rest = bytes(answer.body).decode().partition("<script>window.__streamlit = ")
    assert address and '<script type="module"' not in head
    line, _end, tail = rest.partition("</script>\n")
    theme, _end, tail = tail.partition("    </script>\n")
    assert theme.strip().startswith("<script>") and (SCRIPTS / "theme.js").read_text(encoding="utf-8") in theme
    assert 'new URL(".", location.href).href' in line
    html, styles, end = tail.partition("  <style>\n")
    assert head.rstrip() in STREAMLIT and styles
    before, _links, after = html.partition("  </head>")
    assert after in STREAMLIT and all(
        line in STREAMLIT for line in before.splitlines() if not any(f"/{name}." in line for name in WIDGETS)
    )
    assert all(style(f"{name}.css") in end for name in OF_EVERY_PAGE)
    for name in WIDGETS:  # Streamlit has a part of each of these names
        assert len(re.findall(rf'import\("\./static/js/{name}\.[^/"]+\.js"\)', end)) == 1


def answered(path: str, accepted: str) -> tuple[int, Headers, bytes]:
    """Status, headers and body of a file that was asked for twice, the same both times."""

    async def changing(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse("changes")(scope, receive, send)

    app = Compressed(Starlette(routes=[Mount("/assets/scripts", Assets()), Mount("/", changing)]))

    def once() -> list[Message]:
        sent: list[Message] = []

        async def receive() -> Message:
            return await asyncio.get_running_loop().create_future()  # nobody goes away

        async def send(message: Message) -> None:
            sent.append(message)
            message["headers"] = [*message.get("headers", ()), (b"added", b"without")]  # as what lies around adds its own

        asked = [(b"host", b"a"), (b"accept-encoding", accepted.encode())]
        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"v=1", "headers": asked}
        asyncio.run(app(scope, receive, send))
        return sent

    first, again = once(), once()
    assert first == again
    return again[0]["status"], Headers(raw=again[0]["headers"]), b"".join(part.get("body", b"") for part in again[1:])


def test_a_file_that_never_changes_travels_compressed_to_who_takes_it() -> None:
    _, plain, content = answered("/assets/scripts/live_plot.js", "br")
    assert "content-encoding" not in plain and content == (SCRIPTS / "live_plot.js").read_bytes()
    status, packed, body = answered("/assets/scripts/live_plot.js", "br, gzip")
    assert status == 200 and packed["content-encoding"] == "gzip" and packed["vary"] == "Accept-Encoding"
    assert gzip.decompress(body) == content and int(packed["content-length"]) == len(body) < 0.5 * len(content)
    assert "immutable" in packed["cache-control"]


@pytest.mark.parametrize(("path", "status"), [("/live.js", 200), ("/assets/scripts/none.js", 404)])
def test_what_changes_or_is_not_there_is_passed_on_as_it_is(path: str, status: int) -> None:
    got, headers, _ = answered(path, "gzip")
    assert got == status and "content-encoding" not in headers


def test_a_scripts_address_changes_with_its_content() -> None:
    assert script("frame.js").startswith("assets/scripts/frame.js?v=") and script("frame.js") != script("live_plot.js")


def split_outside(text: str, at: str) -> list[str]:
    """The parts of a text between characters that stand in no bracket."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and letter in at:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


@pytest.mark.parametrize("name", OF_EVERY_PAGE)
def test_a_change_restyles_what_it_touches_and_not_the_whole_page(name: str) -> None:
    """Where a selector asks what an element holds and styles another, Chromium restyles all below the first at each change."""
    text = re.sub(r"/\*.*?\*/", "", style(f"{name}.css"), flags=re.DOTALL)
    selectors = [part for rule in re.findall(r"([^{}]+)\{", text) if "@" not in rule for part in split_outside(rule, ",")]
    assert selectors
    for selector in selectors:
        *above, _last = split_outside(selector, " >+~")
        if not selector.startswith(".opening"):  # holds while a page opens, and for no longer
            assert ":has(" not in "".join(above), selector
