"""Measures a class on a running app: a teacher in Chromium moves a dial, and so many phones get each state over their websockets.

    python -m scripts.class_phones http://localhost:8501 --pid PID [--phones 60] [--moves 30] [--chromium PATH]

Prints the app's processor time a second (with PID), the milliseconds from the key press to the phones (first, median, 95th
percentile, last), and the size of a view. The key press includes the teacher's own run of the page.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shutil
import statistics
import time
from urllib.parse import urlsplit

import aiohttp
import psutil
from playwright.async_api import async_playwright

LESSON = "/attention-steps?part=softmax&ask=true&lang=en"
PAUSE_S = 1.0


async def phone(address: str, language: str, got: list[tuple[float, int]]) -> None:
    """Take what comes, and note when a view came and how long it was; answer each question once."""
    answered = set[str]()
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{address}/socket?lang={language}", max_msg_size=0) as socket,
    ):
        async for one in socket:
            message = json.loads(one.data)
            if message.get("view"):
                got.append((time.perf_counter(), len(one.data)))
            question = message.get("question")
            if question and not question["revealed"] and question["key"] not in answered:
                answered.add(question["key"])
                await socket.send_json({"answer": [question["key"], 0]})


async def main() -> None:
    """Run it and print the numbers."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("url")
    options.add_argument("--pid", type=int)
    options.add_argument("--phones", type=int, default=60)
    options.add_argument("--moves", type=int, default=30)
    options.add_argument("--chromium", default=shutil.which("chromium-headless-shell"))
    asked = options.parse_args()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=asked.chromium)
        page = await browser.new_page()
        await page.goto(asked.url + LESSON)
        await page.get_by_text("For the class").click(timeout=90_000)
        await page.wait_for_url(re.compile("class="))
        code = re.search(r"class=(\w+)", page.url)
        address = f"ws://{urlsplit(asked.url).netloc}/class/{code[1] if code else ''}"
        got: list[list[tuple[float, int]]] = [[] for _ in range(asked.phones)]
        phones = [asyncio.create_task(phone(address, "en" if n % 2 else "es", one)) for n, one in enumerate(got)]
        await asyncio.sleep(5)
        slider = page.locator('[class*="st-key-dial_on_"] input[type="range"]')
        await slider.focus()
        process = psutil.Process(asked.pid) if asked.pid else None
        before, began = sum(process.cpu_times()[:2]) if process else 0.0, time.perf_counter()
        pressed = []
        for move in range(asked.moves):
            pressed.append(time.perf_counter())
            await page.keyboard.press("ArrowLeft" if move % 2 == 0 else "ArrowRight")
            await asyncio.sleep(PAUSE_S)
        took = time.perf_counter() - began
        used = sum(process.cpu_times()[:2]) - before if process else 0.0
        waits = sorted(
            1000 * (min(at for at, _size in one if at > press) - press) for one in got for press in pressed if one[-1][0] > press
        )
        for task in phones:
            task.cancel()
        await browser.close()
    late = waits[int(0.95 * len(waits))]
    print(f"{asked.phones} phones, {asked.moves} moves in {took:.0f} s; a view has {got[0][-1][1]:,} characters")
    print(f"received {len(waits)} of {asked.phones * asked.moves}; processor time {used / took:.2f} s a second")
    middle = statistics.median(waits)
    print(f"key press to phone: first {waits[0]:.0f} ms, median {middle:.0f}, p95 {late:.0f}, last {waits[-1]:.0f}")


if __name__ == "__main__":
    asyncio.run(main())
