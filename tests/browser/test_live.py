"""The live page as an analyst and several visitors use it: the bundled recording, its stream, keys, links; no network."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import pandas as pd
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from core.market.store.depth_files import RecordedDepth
from core.market.store.index import find_recording
from pages.markets.live_controls import OPENS_WITH
from tests.browser.conftest import NewPage, SamePage, navigate
from tests.browser.reader import PATIENCE_MS, place, until_still
from tests.browser.server import AppServer
from tests.core.market.helpers import read_trades

SCREEN = ".terminal[data-drawn-step]"
STAT = ".terminal-strip .stat"
STEP = f"document.querySelector('{SCREEN}')?.dataset.drawnStep"
ROWS = "document.querySelector('.terminal').terminal.store.rows"


TERMINAL = "document.querySelector('.terminal').terminal"
DARK, LIGHT = "rgb(20, 24, 29)", "rgb(251, 250, 247)"


def stat(page: Page, name: str) -> str:
    """A value of the status strip."""
    return page.locator(STAT, has=page.get_by_text(name, exact=True)).locator("dd").first.inner_text(timeout=PATIENCE_MS)


def wait_for_status(page: Page, name: str) -> None:
    expect(page.locator(STAT, has=page.get_by_text("Status", exact=True)).locator("dd").first).to_have_text(
        name, timeout=PATIENCE_MS
    )


def wait_for_steps(page: Page, count: int) -> None:
    """Until the screen shows that many more steps."""
    target = int(page.locator(SCREEN).get_attribute("data-drawn-step") or 0) + count
    page.wait_for_function(
        "([selector, target]) => Number(document.querySelector(selector)?.dataset.drawnStep) >= target",
        arg=[SCREEN, target],
        timeout=PATIENCE_MS,
    )


def opened(page: Page) -> Page:
    page.wait_for_selector(SCREEN, timeout=PATIENCE_MS)
    page.wait_for_function(f"() => {ROWS}.length > 200", timeout=PATIENCE_MS)
    return page


PLAYS = f"""() => {{
    const t = document.querySelector('.terminal')?.terminal;
    const seen = (selector) => document.querySelector(selector)?.checkVisibility() ?? false;
    const state = [...document.querySelectorAll('{STAT}')].find((one) => one.querySelector('dt').textContent === 'Status');
    return state?.querySelector('dd').textContent === 'Replaying' && t.config.head === 6 && seen('.terminal-ladder')
        && !seen('.terminal-help') && !/source=|with=/.test(location.search) && t.config.source.startsWith('recording/')
        && t.store.rows.length > 200 && t.chart.follow && !document.querySelector('.terminal-alert')
        && getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor === '{DARK}';
}}"""
"""Whether it plays the recording that it opens with, at its horizon and its newest row."""
AS_OPENED = f"""() => {{
    const rows = document.querySelector('.terminal')?.terminal?.store.rows ?? [];
    return ({PLAYS})() && rows.at(-1).time - rows[0].time === 250 * (rows.length - 1);
}}"""
"""Whether it also did so without a jump since it was opened."""


def centre(page: Page, selector: str) -> tuple[float, float]:
    box = page.locator(selector).bounding_box()
    assert box is not None
    return box["x"] + 0.5 * box["width"], box["y"] + 0.25 * box["height"]


@pytest.fixture
def live(same_page: SamePage, app: AppServer) -> Page:
    return opened(same_page(app, "/live", unchanged=AS_OPENED))


@pytest.fixture
def paused(live: Page) -> Iterator[Page]:
    """It stands still, and plays again afterwards."""
    live.get_by_role("button", name="Pause").click()
    wait_for_status(live, "Paused")
    until_still(live, STEP, frames=90)  # what was under way when the pause came
    yield live
    live.get_by_role("button", name="Play").click()
    wait_for_status(live, "Replaying")


@pytest.fixture
def playing(same_page: SamePage, app: AppServer) -> Page:
    """A page that may have jumped."""
    return opened(same_page(app, "/live", unchanged=PLAYS))


def test_it_opens_on_btc_with_predictions_already_scored(live: Page) -> None:
    wait_for_status(live, "Replaying")
    assert stat(live, "Binance spot") == find_recording(OPENS_WITH).market
    on_axis = "one.chart.lines.get('ask').options().price, one.chart.lines.get('bid').options().price"
    ask, bid, levels = live.evaluate(f"() => {{ const one = {TERMINAL}; return [{on_axis}, [...one.store.newest.levels]]; }}")
    assert ask == levels[0] > bid == levels[2]
    assert stat(live, "Market") == "Not in training"
    expect(live.get_by_role("heading", name="TLOB, 12.5 sec ahead")).to_be_visible()
    expect(live.locator(".terminal-call .standing")).to_contain_text(re.compile("outcomes"))
    assert "label" not in live.url and "h=" not in live.url  # forward (D24) and 50 steps are where it opens
    assert live.evaluate(f"{TERMINAL}.chart.follow")
    assert live.evaluate(f"{TERMINAL}.config.head === 6 && {TERMINAL}.config.heads.join() === '4,5,6,7'")
    worth = r"A call was worth .* after the spread and two fees of 10\.0 bps: \d+ trades\."
    early = r"What a call is worth is said from ten trades on: \d so far\."
    expect(live.locator(".terminal-call .worth")).to_have_text(re.compile(f"^({worth}|{early})$"))


def test_everything_above_the_fold_at_1440_by_900(live: Page) -> None:
    answer = (".terminal-call .called", ".terminal-call .standing", ".terminal-call .worth", ".terminal-tape")
    for selector in (".terminal-strip", ".terminal-plot", ".terminal-ladder", *answer):
        box = live.locator(selector).bounding_box()
        assert box is not None and box["y"] >= 0 and box["y"] + box["height"] <= 900, (selector, box)


def test_there_is_one_answer_and_the_score_beside_it_is_its_own(paused: Page) -> None:
    """By the rows and outcomes that the screen has: its word, the likeliest class, the scores and the worth agree."""
    paused.evaluate(f"{TERMINAL}.draw()")
    found = paused.evaluate(f"""() => {{
        const {{ store, config: {{ head }} }} = {TERMINAL};
        const rows = store.rows.filter((row) => row.predicted).map((row) => ({{ time: row.time, call: row.calls[head],
            truth: row.truth[head], p: [...row.probabilities.subarray(3 * head, 3 * head + 3)] }}));
        return {{ rows, score: store.scores[head] }};
    }}""")
    rows, score = found["rows"], found["score"]
    assert all(row["call"] == row["p"].index(max(row["p"])) for row in rows)
    known = [row for row in rows if row["truth"] >= 0]
    assert score["outcomes"] == len(known) > 100 and score["sinceMs"] == known[0]["time"]
    assert score["independent"] == (known[-1]["time"] - known[0]["time"]) // 12_500 + 1  # no row is missing
    word = ("▼ Down", "■ Stationary", "▲ Up")[rows[-1]["call"]]
    expect(paused.locator(".terminal-call .called")).to_have_text(f"{word} {100 * max(rows[-1]['p']):.1f}%")
    bars = [float(text.rstrip("%")) / 100 for text in paused.locator(".terminal-call .bar em").all_text_contents()]
    assert bars == pytest.approx(rows[-1]["p"], abs=0.0006)
    ticks = "[...document.querySelectorAll('.terminal-call .bar')].map((bar) => Number(bar.style.getPropertyValue('--usual')))"
    shares = [sum(row["truth"] == k for row in known) / len(known) for k in range(3)]
    assert paused.evaluate(ticks) == pytest.approx(shares if score["independent"] >= 10 else [0, 0, 0], abs=0.0006)
    line = "document.querySelector('.terminal-call .standing').textContent"
    for independent, per_call, words in (
        (9, "NaN", r"^9 of the 10 outcomes .* on its own markets' test parts: .* 0\.15,"),
        (10, 0.25, r"^Undecided beside Distance to the VWAP of a minute, .* 0\.250 nats a call better over 10 outcomes\."),
    ):
        scores = f"independent: {independent}, nearest: 4, perCall: {per_call}, standing: 2, decided: 2, untilMs: 11160000"
        drawn = f"Object.assign({TERMINAL}.store.scores[{TERMINAL}.config.head], {{ {scores} }}); {TERMINAL}.draw()"
        said = paused.evaluate(f"() => {{ {drawn}; return {line} }}")  # at once: the stream says its own scores again
        assert re.match(words, said)


def test_the_chart_is_updated_in_place_by_the_stream_alone(live: Page) -> None:
    """Twenty steps: the same node, and no run of the page."""
    live.evaluate("window.before = document.querySelector('.terminal-plot')")
    live.evaluate("""() => {
        window.configured = 0;
        const terminal = document.querySelector('.terminal').terminal;
        const show = terminal.show.bind(terminal);
        terminal.show = (...given) => { window.configured += 1; show(...given); };
    }""")
    wait_for_steps(live, 20)
    assert live.evaluate("window.before === document.querySelector('.terminal-plot') && window.before.isConnected")
    assert live.evaluate("window.configured") == 0


def test_panning_back_holds_the_view_until_live_is_pressed(live: Page) -> None:
    live.locator(".terminal").press("ArrowLeft")
    back = live.get_by_role("button", name="Back to the newest")
    expect(back).to_be_visible()
    held = live.evaluate(f"{TERMINAL}.chart.range()")
    wait_for_steps(live, 4)
    assert live.evaluate(f"{TERMINAL}.chart.range()") == pytest.approx(held)
    back.click()
    expect(back).to_be_hidden()


def test_the_first_screen_shows_the_book_in_depth_and_the_crosshair_says_what_rests(paused: Page) -> None:
    prices = paused.evaluate(f"{TERMINAL}.chart.chart.priceScale('right', 0).getVisibleRange()")
    tenth = paused.evaluate(
        f"(({{ levels }}) => levels[36] - levels[38])({TERMINAL}.store.slots.findLast((slot) => slot?.levels))"
    )
    assert prices["to"] - prices["from"] > 3 * tenth  # of the book, not of ten levels
    across, _down = centre(paused, ".terminal-plot")
    y = paused.evaluate(f"""() => {{
        const {{ chart, plot, store }} = {TERMINAL};
        const box = plot.getBoundingClientRect();
        const slot = store.slots[Math.round(chart.time.coordinateToLogical({across} - box.left))];
        return box.top + chart.bid.priceToCoordinate(slot.levels[36] + 3.5);
    }}""")
    paused.mouse.move(across, y)  # in the bands, away from the ten levels, which are drawn finer than a band
    under = paused.locator(".terminal-under")
    expect(under).to_have_text(re.compile(r"^\d\d:\d\d:\d\d · 6\d,\d{3}\.\d\d · Resting "))
    place = paused.evaluate(f"""() => {{
        const {{ chart, store }} = {TERMINAL};
        const {{ slot, price }} = chart.pointer;
        return [store.slots[Math.round(slot)].time, price, chart.under(chart.pointer).rests.size, chart.depth.place.unit];
    }}""")
    bands = RecordedDepth([find_recording(OPENS_WITH).path]).at(place[0])
    assert bands is not None
    sizes = dict(zip(bands.keys.tolist(), bands.sizes.tolist(), strict=True))
    bands_a_row = max(1, round(place[3]))
    first = math.floor(place[1] / bands_a_row) * bands_a_row
    rests = [sum(sizes.get(4 * (first + i) + side, 0) for i in range(bands_a_row)) for side in (0, 1)]
    assert place[2] == pytest.approx(max(rests), rel=1e-5)
    expect(under).to_contain_text(f"({first:,}.00 – {first + bands_a_row:,}.00)")  # the prices between which it rests


def test_a_double_click_draws_a_line_and_removes_it(live: Page) -> None:
    at = centre(live, ".terminal-plot")
    live.mouse.dblclick(*at)
    live.wait_for_url(re.compile(r"[?&]lines=6\d{4}"), timeout=PATIENCE_MS)
    live.wait_for_function(
        f"() => [...{TERMINAL}.chart.lines.keys()].some((name) => name.startsWith('own'))", timeout=PATIENCE_MS
    )
    another = live.context.new_page()  # it stays in this browser
    another.goto(live.url.partition("?")[0])
    another.wait_for_url(re.compile(r"[?&]lines=6\d{4}"), timeout=PATIENCE_MS)
    another.close()
    box = live.locator(".terminal-plot").bounding_box()
    assert box is not None
    y = live.evaluate(f"{TERMINAL}.chart.bid.priceToCoordinate({TERMINAL}.config.lines[0])")
    live.mouse.dblclick(at[0], box["y"] + y)
    live.wait_for_url(lambda url: "lines=" not in url, timeout=PATIENCE_MS)


def assert_written(page: Page, date: str, mid: str) -> None:
    """The chart's date and the strip's price."""
    page.mouse.move(*centre(page, ".terminal-plot"))
    page.wait_for_function(f"() => {TERMINAL}.chart.titled?.includes({date!r})", timeout=PATIENCE_MS)
    assert re.fullmatch(mid, page.locator(STAT).nth(2).locator("dd").inner_text())


def test_dates_and_prices_are_written_as_the_reader_writes_them(live: Page) -> None:
    assert_written(live, "Aug 8, 2024", r"6\d,\d{3}\.\d\d[05]")


def test_the_chart_is_saved_as_a_picture_under_its_market_and_moment(live: Page) -> None:
    with live.expect_download() as given:
        live.get_by_role("button", name="Save the chart as a picture").click()
    assert re.fullmatch(r"BTC-USDT-\d{13}\.png", given.value.suggested_filename)
    with Image.open(given.value.path()) as picture:
        chart = live.locator(".terminal-plot").bounding_box()
        assert chart is not None
        assert abs(picture.width - chart["width"]) < 3
        assert len(picture.convert("RGB").getcolors(maxcolors=1 << 24) or []) > 20  # the heat map is on it


def test_the_page_does_without_plotly(live: Page) -> None:
    wait_for_steps(live, 4)
    names = live.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
    assert not [name for name in names if "plotly" in name] and any("lightweight-charts" in name for name in names)
    assert live.evaluate("document.querySelector('#tv-attr-logo').href").startswith("https://www.tradingview.com/")


def test_the_models_card_is_made_once_it_is_opened(live: Page) -> None:
    counted = live.get_by_text(re.compile("Parameters, counted in the live model: [0-9,]+"))
    assert not counted.count()
    box = live.get_by_text("Model and card: tlob")
    box.click()
    expect(counted).to_be_visible(timeout=PATIENCE_MS)
    expect(live.locator("[data-testid=stExpander] [data-testid=stDataFrame]")).to_have_count(2, timeout=PATIENCE_MS)
    box.click()
    expect(counted).to_have_count(0, timeout=PATIENCE_MS)


def test_the_minimap_seeks_and_the_link_holds_the_moment(playing: Page) -> None:
    minimap = playing.locator(".terminal-map")
    minimap.click(position=place(minimap, 0.75, 0.5))
    playing.wait_for_function(
        "() => Math.abs(Number(document.querySelector('.terminal-map').dataset.share) - 0.75) < 0.06", timeout=PATIENCE_MS
    )
    playing.wait_for_url(re.compile(r"[?&]at=\d+"), timeout=PATIENCE_MS)


def test_keys_play_change_the_horizon_and_help(playing: Page) -> None:
    playing.locator(".terminal").press("4")
    expect(playing.get_by_role("heading", name="TLOB, 25 sec ahead")).to_be_visible(timeout=PATIENCE_MS)
    playing.wait_for_url(re.compile("h=100"), timeout=PATIENCE_MS)
    playing.locator(".terminal").press("Space")
    wait_for_status(playing, "Paused")
    playing.locator(".terminal").press("?")
    expect(playing.locator(".terminal-help")).to_be_visible()
    for key in ("?", "3", "Space"):  # as it was
        playing.locator(".terminal").press(key)
    wait_for_status(playing, "Replaying")


def test_presentation_keeps_the_figure_the_call_and_the_score_and_escape_returns(playing: Page) -> None:
    playing.locator(".terminal").press("p")
    expect(playing.locator(".terminal-ladder")).to_be_hidden(timeout=PATIENCE_MS)
    for gone in (".terminal-map", "[data-testid=stHeader]", ".st-key-frame_controls", "[data-testid=stDataFrame]"):
        expect(playing.locator(gone).locator("visible=true")).to_have_count(0)
    expect(playing.get_by_role("button", name="Market", exact=True)).to_be_hidden()
    for kept in (".terminal-plot", ".terminal-call .called", ".terminal-call .standing"):
        expect(playing.locator(kept)).to_be_visible()
    playing.wait_for_url(re.compile("present=true"), timeout=PATIENCE_MS)
    playing.locator(".terminal").press("Space")  # keys still work
    wait_for_status(playing, "Paused")
    playing.get_by_role("button", name="Leave presentation (Esc)").focus()
    playing.evaluate("document.fullscreenElement && document.exitFullscreen()")  # as the browser does at the first Esc
    playing.keyboard.press("Escape")
    expect(playing.locator(".terminal-ladder")).to_be_visible(timeout=PATIENCE_MS)
    expect(playing.get_by_role("button", name="Market", exact=True)).to_be_visible()
    playing.locator(".terminal").press("Space")
    wait_for_status(playing, "Replaying")


def test_another_source_is_a_step_of_the_history(playing: Page) -> None:
    playing.get_by_role("button", name="Market", exact=True).click()
    playing.get_by_role("radio", name="Simulated").or_(playing.get_by_role("button", name="Simulated")).first.click()
    wait_for_status(playing, "Simulating")
    playing.wait_for_url(re.compile("source=simulated"), timeout=PATIENCE_MS)
    expect(playing.get_by_text("Pressure (-1 sell, 1 buy)")).to_be_visible()
    playing.go_back()
    playing.wait_for_url(lambda url: "source=" not in url, timeout=PATIENCE_MS)
    wait_for_status(playing, "Replaying")


def test_a_computer_that_slept_says_so(playing: Page) -> None:
    playing.evaluate(f"{{ {TERMINAL}.awake -= 600_000; {TERMINAL}.lookAtClock(); {TERMINAL}.lookAtClock(); }}")
    expect(playing.locator(".terminal-alert")).to_have_count(1)
    expect(playing.locator(".terminal-alert")).to_have_text(re.compile(r"^This computer slept from \d\d:\d\d:\d\d to \d\d"))


def test_it_is_dark_until_another_page_is_opened_or_light_is_chosen(playing: Page) -> None:
    background = "(one => one && getComputedStyle(one).backgroundColor)(document.querySelector('[data-testid=stApp]'))"
    assert playing.evaluate(background) == DARK  # the tests' browser prefers light
    navigate(playing, "System", "System")
    playing.wait_for_function(f"{background} === '{LIGHT}'", timeout=PATIENCE_MS)
    playing.go_back()
    playing.wait_for_function(f"{background} === '{DARK}'", timeout=PATIENCE_MS)
    playing.evaluate("localStorage.setItem('stActiveTheme-/live-v2', JSON.stringify('Light'))")
    playing.reload()
    opened(playing)
    assert playing.evaluate(background) == LIGHT
    playing.evaluate("localStorage.removeItem('stActiveTheme-/live-v2')")


def test_a_state_of_the_market_and_a_break_of_its_trades_are_shown(playing: Page) -> None:
    playing.locator(".terminal-tape").scroll_into_view_if_needed()
    playing.wait_for_function(f"() => {TERMINAL}.tape.inSight", timeout=PATIENCE_MS)
    playing.evaluate(
        f"""() => {{
        const one = {TERMINAL};
        const status = one.store.status;
        one.socket.onmessage = null;  // the stream would say its own state again
        const locked = {{ since: Date.UTC(2024, 0, 1, 14, 2, 3), short: "locked", text: "locked since {{time}}" }};
        const at = (minute) => Date.UTC(2024, 0, 1, 12, minute);
        const day = {{ until: at(6), runs: [[at(0), "live"], [at(2), "lagging"], [at(3), "halted"], [at(5), "asked"]] }};
        one.config = {{ ...one.config, source: "live/x/y" }};
        one.message({{ status, text: "", situations: [locked], day }});
        const newest = one.store.trades.at(-1).time;
        one.store.breaks.push({{ from: newest - 1, until: newest }});
        one.taped = null;
        one.request();
    }}"""
    )
    expect(playing.locator('.terminal-tape [data-side="break"]')).to_have_text(re.compile("not followed$"), timeout=PATIENCE_MS)
    strip = playing.locator(".terminal-day")
    colours = strip.evaluate(
        "c => [719, 721, 722, 723, 724, 725, 726].map((x) => [...c.getContext('2d').getImageData(x, 0, 1, 1).data].join())"
    )
    green, orange, red, blue = "42,154,120,255", "213,112,31,255", "194,59,59,255", "47,126,199,255"
    assert colours == ["0,0,0,0", green, orange, red, red, blue, "0,0,0,0"]
    playing.evaluate(f"{TERMINAL}.under.textContent = {TERMINAL}.day.wordsAt(724.5 / 1440)")
    expect(playing.locator(".terminal-under")).to_have_text("From 12:03:00 to 12:05:00: halted.")
    name = playing.locator(STAT, has=playing.get_by_text("Binance spot", exact=True)).locator("dd").first
    expect(name).to_have_text("BTC/USDT · locked", timeout=PATIENCE_MS)


def test_after_a_jump_the_volume_delta_is_that_of_the_trades_since(new_page: NewPage, app: AppServer) -> None:
    page = opened(new_page(app, "/live"))
    page.get_by_role("button", name="Pause").click()
    wait_for_status(page, "Paused")
    page.evaluate(f"{TERMINAL}.command('seek', 258)")
    one = find_recording(OPENS_WITH)
    page.wait_for_function(f"() => {ROWS}.at(-1).time >= {one.start_ms + 258_000}", timeout=PATIENCE_MS)
    found = page.evaluate(f"({{...{TERMINAL}.store.flow(), now: {ROWS}.at(-1).time, first: {ROWS}[0].time}})")
    assert found["since"] > found["first"] + 1_000  # what was jumped over is no part of it
    name = page.locator(STAT, has_text="Volume delta since").locator("dt").inner_text()
    (clock,) = re.findall(r"\d\d:\d\d:\d\d", name)
    since = int(pd.Timestamp(f"2024-08-08 {clock}", tz="UTC").timestamp() * 1e3)
    trades = pd.DataFrame([vars(trade) for trade in read_trades(one.path)])
    there = trades[(trades.exchange_ms > since) & (trades.exchange_ms <= found["now"])]
    truth = (there["size"] * there.side.map({"buy": 1, "sell": -1})).sum()
    assert len(there) == found["trades"] > 500 and found["delta"] == pytest.approx(truth)
    shown = page.locator(STAT, has_text="Volume delta since").locator("dd").inner_text()
    assert float(shown.replace(",", "")) == pytest.approx(truth, abs=5e-4 * abs(truth) + 1e-9)


def test_a_spanish_reader_has_his_dates_and_prices(new_page: NewPage, app: AppServer) -> None:
    assert_written(opened(new_page(app, "/live?lang=es")), "8 ago 2024", r"6\d\.\d{3},\d\d[05]")


def test_a_forgotten_ticket_is_asked_for_anew_and_a_market_without_rows_offers_a_recording(
    new_page: NewPage, app: AppServer
) -> None:
    page = opened(new_page(app, "/live"))
    page.evaluate(f"""() => {{
        const one = {TERMINAL};
        [window.given, window.asked] = [one.config, []];
        one.config = {{ ...one.config, address: "/stream/market?ticket=forgotten" }};
        one.component = {{ setTriggerValue: (_, {{ name }}) => window.asked.push(name) }};
        one.connect();
    }}""")
    expect(page.locator(".terminal-notice")).to_have_text(re.compile("server is lost"), timeout=PATIENCE_MS)
    page.wait_for_function("() => window.asked.includes('rejoin')", timeout=PATIENCE_MS)
    page.evaluate(f"{TERMINAL}.config = window.given")  # as the page's answer would be
    page.wait_for_function(f"() => {TERMINAL}.root.dataset.stream === 'open'", timeout=PATIENCE_MS)
    expect(page.locator(".terminal-notice")).to_be_hidden(timeout=PATIENCE_MS)
    wait_for_steps(page, 8)
    offered = f"""() => {{
        const one = {TERMINAL};
        one.config = {{ ...one.config, source: "live/out of reach" }};
        one.component = {{ setTriggerValue: (_, {{ name }}) => window.asked.push(name) }};
        one.store.clear();
        one.say("No network.");
        one.notice.querySelector("button").click();
        return window.asked.at(-1);
    }}"""
    assert page.evaluate(offered) == "recording"  # an exchange of which nothing is known yet offers one


@pytest.mark.timeout(500)
def test_reasons_stand_beside_the_answer_and_a_pressed_price_asks_for_one_without_it(new_page: NewPage, app: AppServer) -> None:
    page = new_page(app, "/live?source=recording&rec=binance_spot_nexousdt_2024-07-24")
    reasons = page.locator(".terminal-reasons")
    expect(reasons.locator(".why")).to_contain_text(re.compile("Towards|even|No group"), timeout=3 * PATIENCE_MS)
    expect(reasons.locator(".measured")).to_contain_text("Held-out hours of Binance NEXO/USDT")
    page.wait_for_function(f"() => {TERMINAL}.light.newest?.cells[0].length", timeout=3 * PATIENCE_MS)
    row = page.locator(".terminal-ladder button[tabindex='0']")
    row.focus()
    row.press("ArrowUp")
    page.locator(".terminal-ladder button:focus").press("Enter")
    expect(reasons.locator(".without")).to_contain_text(re.compile("instead of|hardly|nothing to take"), timeout=PATIENCE_MS)
    page.keyboard.press("Escape")
    expect(reasons.locator(".without")).to_have_text("")
