"""The lecture in a browser: the whole path by Space alone and back, on two screens, in both languages, by key and by address."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from core.lecture.stops import MINUTES, StopView, stops
from tests.browser.conftest import NewPage
from tests.browser.reader import PATIENCE_MS
from tests.browser.server import AppServer

LOOK = """
() => {
  const page = document.querySelector(".lecture-page");
  const place = page.getBoundingClientRect();
  const scale = place.width / 1280;
  const inside = (box) => box.left >= -1 && box.top >= -1 && box.right <= innerWidth + 1 && box.bottom <= innerHeight + 1;
  const drawn = [...page.querySelectorAll("*")].filter((one) => one.getClientRects().length);
  const speaks = drawn.filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
  const figure = page.querySelector(".lecture-figure").getBoundingClientRect();
  const over = (one) => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 4;
  const cut = speaks.filter((one) => one.clientWidth && !one.closest("svg") && over(one));
  const within = [...page.querySelectorAll(".lecture-panel *")].map((one) => one.getBoundingClientRect());
  return {
    at: page.dataset.at,
    dial: page.dataset.dial,
    drawn: page.innerHTML,
    outside: drawn.filter((one) => !inside(one.getBoundingClientRect())).map((one) => one.outerHTML.slice(0, 120)),
    below: within.some((box) => box.bottom > figure.bottom + 2 * scale || box.top < figure.top - 2 * scale),
    cut: cut.map((one) => one.outerHTML.slice(0, 120)),
    share: (figure.width * figure.height) / (1280 * 720 * scale ** 2),
    least: Math.min(...speaks.map((one) => parseFloat(getComputedStyle(one).fontSize))), // of 720 lines
    covers: document.elementFromPoint(innerWidth - 60, 20).closest(".lecture-stage") !== null,
  };
}
"""
BY_ADDRESS = f"""(addresses) => addresses.map((to) => {{
  history.replaceState(null, "", to);
  dispatchEvent(new PopStateEvent("popstate"));
  return ({LOOK.strip()})();
}})"""
"""What stands at these addresses, which the stage draws at once: Streamlit looks at its page once for all."""
TO_THE_END = f"""(addresses) => addresses.map((to) => {{
  const looks = ({BY_ADDRESS})([to]);
  while (looks.length < 200) {{
    document.body.dispatchEvent(new KeyboardEvent("keydown", {{ key: "ArrowRight", bubbles: true, cancelable: true }}));
    if (document.querySelector(".lecture-page").dataset.dial === looks.at(-1).dial) return looks;
    looks.push(({LOOK.strip()})());
  }}
  throw new Error("a dial without an end");
}})"""
"""What stands at each of these addresses and, arrow by arrow, at all that follow on its dial."""


def looked(page: Page) -> dict[str, Any]:
    """What stands on the stage, after a check that it is whole and can be read."""
    return whole(page.evaluate(LOOK))


def whole(found: dict[str, Any]) -> dict[str, Any]:
    """What was found on the stage, after that check."""
    where = f"{found['at']} dial {found['dial']}"
    assert not found["outside"] and not found["cut"] and not found["below"], (where, found["outside"], found["cut"])
    assert found["share"] >= 0.5 and found["least"] >= 18 and found["covers"], where
    return found


def path(language: str) -> Iterator[tuple[str, StopView]]:
    for number, views in enumerate(stops(language).values(), 1):
        yield from ((f"{number}.{at}", view) for at, view in enumerate(views, 1))


@pytest.mark.parametrize(("language", "size"), [("en", (1280, 720)), ("es", (1920, 1080))])
def test_space_alone_gives_the_whole_lecture_and_a_stop_is_the_same_however_one_comes(
    new_page: NewPage, app: AppServer, language: str, size: tuple[int, int]
) -> None:
    page = new_page(app, f"/learn?lang={language}")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.locator(".st-key-lecture_tile_0 a").click(timeout=PATIENCE_MS)
    page.wait_for_selector(".lecture-page[data-at='1.1']", timeout=PATIENCE_MS)
    page.mouse.move(2, 2)  # off the figure, which says what is pointed at
    seen, views = [looked(page)], dict(path(language))
    for _ in range(100):
        page.keyboard.press("Space")
        now = looked(page)
        if now["drawn"] == seen[-1]["drawn"]:
            break
        seen.append(now)
    steps = [(at, str(n + 1)) for at, view in views.items() for n in ((0, 1) if view.asks else (view.first,))]
    assert [(one["at"], one["dial"]) for one in seen] == steps and len(MINUTES) == 9
    for before, after in itertools.pairwise(reversed(seen)):
        page.keyboard.press("PageUp")
        assert looked(page)["drawn"] == after["drawn"] != before["drawn"]
    addresses = [f"?lang={language}&stop={one['at']}&dial={one['dial']}" for one in seen]
    for one, by_address in zip(seen, page.evaluate(BY_ADDRESS, addresses), strict=True):
        assert whole(by_address)["drawn"] == one["drawn"]
    turned = page.evaluate(TO_THE_END, [f"?lang={language}&stop={at}&dial=1" for at in reversed(views)])
    for looks, (at, view) in zip(turned, reversed(views.items()), strict=True):
        dials = [(found["at"], found["dial"]) for found in map(whole, looks)]
        assert dials == [(at, str(n + 1)) for n in range(len(view.frames))]
    page.locator("[data-act=on]").focus()  # a button does not take the keys for itself
    page.evaluate(BY_ADDRESS, [f"?lang={language}&stop=1.2&dial=1"])
    page.keyboard.press("ArrowRight")
    assert looked(page)["dial"] == "2"
    page.evaluate(BY_ADDRESS, [f"?lang={language}&stop=5.1"])  # a class raises its hands, and is told how many were right
    right = views["5.1"].frames[1].panels[-1]["right"]
    for option in (right, 0, right):
        page.locator("button[data-vote]").nth(option).click()
    page.keyboard.press("Space")
    page.mouse.move(2, 2)
    kept = page.evaluate(LOOK)["drawn"]
    page.reload()  # the address has the view and its dial, the window the hands
    page.wait_for_selector(".lecture-page[data-at]", timeout=PATIENCE_MS)
    assert looked(page)["drawn"] == kept
    assert re.search("[^0-9]2 (of|de) 3 ", page.locator(".lecture-sentence").inner_text()) and looked(page)
    assert page.locator(".lecture-right").inner_text().split()[-1] == "2"
    page.keyboard.press("Escape")
    page.wait_for_selector(".st-key-lecture_stops", timeout=PATIENCE_MS)
