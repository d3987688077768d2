"""What the browser gets besides Streamlit's own files."""

from __future__ import annotations

from pathlib import Path

import streamlit

from pages.shared.assets import SCRIPTS, page_html, script

STREAMLIT = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")


def test_a_pages_html_is_streamlits_with_the_servers_address_and_the_theme_before_its_scripts() -> None:
    answer = page_html(None)
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/html")
    assert answer.headers["cache-control"] == "no-cache"
    head, address, rest = bytes(answer.body).decode().partition("<script>window.__streamlit = ")
    assert address and '<script type="module"' not in head
    line, _newline, tail = rest.partition("\n")
    theme, _end, tail = tail.partition("    </script>\n")
    assert theme.strip().startswith("<script>") and (SCRIPTS / "theme.js").read_text(encoding="utf-8") in theme
    assert "new URL('.', location.href).href" in line
    assert head.rstrip() in STREAMLIT and tail in STREAMLIT  # nothing else is changed


def test_a_scripts_address_changes_with_its_content() -> None:
    assert script("frame.js").startswith("/assets/frame.js?v=") and script("frame.js") != script("live_plot.js")
