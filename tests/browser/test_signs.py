"""The sign pages in a browser: links, clicks, an uploaded film, and every width."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.reader import PATIENCE_MS, drawn, stat
from tests.browser.server import AppServer
from tests.core.signs.video_files import film, grey

TRELLIS = ".st-key-ctc_trellis .live-plot"


def test_a_click_on_the_trellis_shows_its_step(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/ctc?target=A+A+B&length=7")
    drawn(page, TRELLIS)
    plot = page.locator(f"{TRELLIS} .js-plotly-plot")
    x, y = plot.evaluate(
        """(plot) => {
            const {xaxis, yaxis} = plot._fullLayout;
            return [xaxis._offset + xaxis.d2p(5), yaxis._offset + yaxis.d2p(4)];
        }"""
    )
    plot.hover(position={"x": x - 3, "y": y})
    plot.click(position={"x": x, "y": y})
    page.wait_for_url(re.compile(r"cell=5\.4"), timeout=PATIENCE_MS)


def test_an_example_moves_the_lab_and_the_link_opens_it_again(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/ctc")
    page.get_by_role("button", name="One frame too few").click()
    expect(page.get_by_text("3 frames cannot hold this target")).to_be_visible(timeout=PATIENCE_MS)
    page.wait_for_url(re.compile("length=3"), timeout=PATIENCE_MS)
    other = new_page(app, page.url.removeprefix(app.url))
    expect(other.get_by_text("3 frames cannot hold this target")).to_be_visible(timeout=PATIENCE_MS)
    assert stat(other, "Loss") == "∞"


def test_typing_a_hypothesis_changes_the_rate(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/metrics?ref=A+B+C+D")
    field = page.get_by_label("Hypothesis: what was recognised")
    field.fill("A B C")
    field.press("Control+Enter")
    page.wait_for_url(re.compile(r"hyp=A\+B\+C"), timeout=PATIENCE_MS)
    expect(page.locator(".stat-strip .stat", has=page.get_by_text("WER", exact=True)).locator("dd").first).to_have_text(
        "25.0%", timeout=PATIENCE_MS
    )


def test_an_uploaded_film_is_read_and_its_link_works(new_page: NewPage, app: AppServer, tmp_path: Path) -> None:
    file = tmp_path / "wall.webm"
    file.write_bytes(film([grey(120, 96, 64)] * 20, kind="webm"))
    page = new_page(app, "/recognise?input=video&model=iiga_digits")
    page.locator("input[type=file]").first.set_input_files(file)
    drawn(page, ".st-key-signs_clip .live-plot")
    page.wait_for_url(re.compile("file=[0-9a-f]{12}"), timeout=PATIENCE_MS)
    page.locator("summary", has_text="Details").first.click()
    assert stat(page, "Frames") == "16"
    expect(page.get_by_text("96 x 64, 10.0 frames a second, vp8")).to_be_visible(timeout=PATIENCE_MS)
    other = new_page(app, page.url.removeprefix(app.url))
    drawn(other, ".st-key-signs_clip .live-plot")


def test_a_tracked_sentence_plays(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/recognise?input=tracks")
    drawn(page, ".st-key-signs_tracks .live-plot")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(
        "() => Number(document.querySelector('.st-key-signs_tracks .live-plot').dataset.updates) >= 4", timeout=2 * PATIENCE_MS
    )
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible(timeout=PATIENCE_MS)
