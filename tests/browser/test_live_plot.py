"""The live plot: one node, zoom kept, themes followed, events told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import NewPage, SamePage
from tests.browser.reader import frames, until_still
from tests.browser.server import AppServer

MOVING = ".st-key-moving .live-plot"
PLOT = f"{MOVING} .js-plotly-plot"
STILL = ".st-key-still .live-plot"


def updates(page: Page) -> int:
    return int(page.locator(MOVING).get_attribute("data-updates") or 0)


def wait_for_updates(page: Page, count: int) -> None:
    """Until that many more frames have been drawn."""
    page.wait_for_function(
        "([selector, target]) => Number(document.querySelector(selector)?.dataset.updates) >= target",
        arg=[MOVING, updates(page) + count],
        timeout=60_000,
    )


def x_range(page: Page) -> list[float]:
    return [float(value) for value in page.evaluate(f"document.querySelector('{PLOT}').layout.xaxis.range")]


def moving(page: Page, wanted: bool) -> None:
    """Have the next figure come four times a second, or let the one on the page stand."""
    page.get_by_text("Moving", exact=True).click()
    expect(page.get_by_role("switch", name="Moving")).to_be_checked(checked=wanted)
    if not wanted:
        until_still(page, f"document.querySelector('{MOVING}').dataset.updates", frames=40)  # the one under way


AS_OPENED = f"""() => {{
    const plot = document.querySelector('{PLOT}');
    const said = document.body.innerText;
    return plot?.layout.xaxis.range[0] < 1 && plot._fullData.every((trace) => trace.visible === true)
        && !document.querySelector('{MOVING}').style.marginTop
        && said.includes('pressed: no') && said.includes('clicked: nothing');
}}"""


@pytest.fixture
def plots_page(same_page: SamePage, plots: AppServer) -> Page:
    page = same_page(plots, unchanged=AS_OPENED)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.wait_for_selector(f"{MOVING}[data-updates]", timeout=60_000)
    return page


def test_the_same_node_is_updated_and_the_data_move(plots_page: Page) -> None:
    plots_page.evaluate(f"window.before = document.querySelector('{PLOT}'); window.y = before.data[1].y.bdata")
    plots_page.evaluate(
        """() => {
            window.removed = 0;
            new MutationObserver((changes) => changes.forEach((c) => c.removedNodes.forEach((n) => {
                if (n === window.before || n.contains?.(window.before)) window.removed += 1;
            }))).observe(document.body, {childList: true, subtree: true});
        }"""
    )
    wait_for_updates(plots_page, 20)
    assert plots_page.evaluate(f"window.before === document.querySelector('{PLOT}') && window.before.isConnected")
    assert plots_page.evaluate("window.removed") == 0
    assert plots_page.evaluate("window.y !== window.before.data[1].y.bdata")


HIDE = """document.dispatchEvent(new Event('visibilitychange', Object.defineProperty(
    document, 'hidden', { value: HIDDEN, configurable: true })))"""
DISTANT = f"document.querySelector('{MOVING}').style.marginTop = '5000px'"


@pytest.mark.parametrize(
    ("away", "back"),
    [
        (DISTANT, f"document.querySelector('{MOVING}').scrollIntoView()"),
        (HIDE.replace("HIDDEN", "true"), HIDE.replace("HIDDEN", "false")),
    ],
    ids=["far out of view", "of a hidden page"],
)
def test_a_plot_that_nobody_sees_is_not_drawn_again_until_somebody_does(plots_page: Page, away: str, back: str) -> None:
    page, plot = plots_page, f"document.querySelector('{MOVING}').livePlot"
    page.evaluate(f"void ({away})")
    page.wait_for_function(f"!{plot}.drawing && (document.hidden || !{plot}.inView)")
    drawn = updates(page)
    page.evaluate(f"void (window.waiting = {plot}.next)")
    page.wait_for_function(f"{plot}.next !== window.waiting", timeout=60_000)
    assert updates(page) == drawn
    page.evaluate(f"void ({back})")
    wait_for_updates(page, 2)
    page.evaluate(f"document.querySelector('{MOVING}').style.marginTop = ''")


def test_alternative_text(plots_page: Page) -> None:
    expect(plots_page.get_by_role("figure", name="A sine wave that moves", exact=True)).to_be_visible()
    expect(plots_page.get_by_role("figure", name="A sine wave that stands still")).to_be_visible()


def test_the_theme_is_followed_without_a_reload(plots_page: Page) -> None:
    colour = f"getComputedStyle(document.querySelector('{STILL} .xtick text')).fill"
    light = plots_page.evaluate(colour)
    plots_page.emulate_media(color_scheme="dark")
    plots_page.wait_for_function(f"{colour} !== {light!r}", timeout=20_000)
    assert light == "rgb(35, 39, 46)" and plots_page.evaluate(colour) == "rgb(221, 226, 232)"


def test_width_follows_the_window(plots_page: Page) -> None:
    plots_page.set_viewport_size({"width": 800, "height": 900})
    plots_page.wait_for_function(
        f"(() => {{ const p = document.querySelector('{PLOT}'); return Math.abs(p._fullLayout.width - p.clientWidth) < 2; }})()"
    )
    assert plots_page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_plot_that_comes_back_is_whole(plots_page: Page) -> None:
    plots_page.get_by_text("Shown").click()
    plots_page.wait_for_selector(MOVING, state="detached")
    plots_page.get_by_text("Shown").click()
    plots_page.wait_for_selector(f"{MOVING}[data-updates]", timeout=20_000)
    assert plots_page.evaluate(f"document.querySelector('{PLOT}').data.length") == 2


@pytest.mark.parametrize(("kind", "title", "begins"), [
    ("png", "Download as PNG", b"\x89PNG"),
    ("svg", "Download as SVG", b"<svg"),
])  # fmt: skip
def test_downloads(plots_page: Page, tmp_path: Path, kind: str, title: str, begins: bytes) -> None:
    plots_page.locator(STILL).hover()
    with plots_page.expect_download() as download:
        plots_page.locator(f"{STILL} [data-title='{title}']").click()
    file = tmp_path / f"sine.{kind}"
    assert download.value.suggested_filename == file.name
    download.value.save_as(file)
    assert file.read_bytes().startswith(begins)


def test_a_frame_that_looks_the_same_is_not_drawn_again(plots_page: Page) -> None:
    still = plots_page.locator(STILL)
    before = still.get_attribute("data-updates")
    assert before
    plots_page.get_by_text("Again").click()
    plots_page.wait_for_function("document.body.innerText.includes('pressed: yes')")
    wait_for_updates(plots_page, 2)
    assert still.get_attribute("data-updates") == before


def test_a_drawn_zoom_outlives_new_data(plots_page: Page) -> None:
    panel = plots_page.locator(f"{PLOT} .nsewdrag")
    panel.hover()
    area = panel.bounding_box()
    assert area is not None
    y = area["y"] + area["height"] / 2
    plots_page.mouse.move(area["x"] + area["width"] * 0.25, y)
    plots_page.mouse.down()
    plots_page.mouse.move(area["x"] + area["width"] * 0.5, y, steps=5)
    for _ in range(3):  # a slow hand: three figures come meanwhile
        newest = f"(({{ next, last }}) => next ?? last)(document.querySelector('{MOVING}').livePlot)"
        plots_page.evaluate(f"void (window.waiting = {newest})")
        plots_page.wait_for_function(f"{newest} !== window.waiting", timeout=60_000)
    plots_page.mouse.move(area["x"] + area["width"] * 0.75, y, steps=5)
    plots_page.mouse.up()
    plots_page.wait_for_function(f"document.querySelector('{PLOT}').layout.xaxis.range[0] > 20")
    zoomed = x_range(plots_page)
    wait_for_updates(plots_page, 5)
    assert x_range(plots_page) == zoomed
    assert 40 < zoomed[0] < 60 and 140 < zoomed[1] < 160


def test_a_hidden_trace_stays_hidden(plots_page: Page) -> None:
    plots_page.locator(f"{PLOT} .legendtoggle").click()
    plots_page.wait_for_function(f"document.querySelector('{PLOT}')._fullData[1].visible === 'legendonly'")
    wait_for_updates(plots_page, 5)
    assert plots_page.evaluate(f"document.querySelector('{PLOT}')._fullData[1].visible") == "legendonly"


def test_a_click_reaches_python(plots_page: Page) -> None:
    moving(plots_page, False)
    plots_page.locator(f"{PLOT} .nsewdrag").click()
    expect(plots_page.get_by_text("clicked: ")).not_to_have_text("clicked: nothing", timeout=20_000)


def test_a_plot_has_its_place_before_its_script_has_come(tab: Callable[..., Page], plots: AppServer) -> None:
    page = tab()
    held: list[Route] = []
    page.route("**/assets/scripts/*live_plot*", lambda route: held.append(route))
    with page.expect_request("**/assets/scripts/*live_plot*"):
        page.goto(plots.url)
    said = page.get_by_text("clicked: nothing")
    said.wait_for()
    below = "(said) => said.getBoundingClientRect().top - document.querySelector('.st-key-moving').getBoundingClientRect().top"
    before = said.evaluate(below)
    assert page.locator(".live-plot").count() == 0
    for route in held:
        route.continue_()
    page.wait_for_selector(f"{MOVING}[data-updates]")
    assert before == pytest.approx(said.evaluate(below), abs=1) and before > 320


def test_without_the_library_the_place_says_so(tab: Callable[..., Page], plots: AppServer) -> None:
    page = tab()  # unwatched: a failed request is what is asked for here
    asked: list[str] = []
    page.route(
        "**/assets/scripts/vendor/plotly-cartesian.min.js*", lambda route: (asked.append(route.request.url), route.abort())
    )
    page.goto(plots.url)
    expect(page.locator(f"{STILL} .live-plot-missing")).to_contain_text("could not be loaded", timeout=60_000)
    frames(page, 120)
    assert len(asked) < 40, "a missing library is asked for with each frame, not in a loop"
    page.unroute("**/assets/scripts/vendor/plotly-cartesian.min.js*")
    page.wait_for_selector(f"{MOVING}[data-updates]", timeout=60_000)
    expect(page.locator(f"{MOVING} .live-plot-missing")).to_have_count(0)


def test_spanish_labels(new_page: NewPage, plots: AppServer) -> None:
    page = new_page(plots, locale="es-AR")
    page.wait_for_selector(f"{STILL}[data-updates]", timeout=60_000)
    expect(page.locator(f"{STILL} [data-title='Descargar como PNG']")).to_be_attached()
    assert page.evaluate(f"document.querySelector('{STILL} .js-plotly-plot').layout.separators") == ",."
