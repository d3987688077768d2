"""Measures a class on a running app: a teacher in Chromium moves a dial, and so many phones get each state over their websockets.

    python -m scripts.class_phones http://localhost:8501 --pid PID [--phones 60] [--moves 30] [--chromium PATH]
    python -m scripts.class_phones http://localhost:8501 --pid PID --phones 30 --teach digits

Prints the app's processor time a second (with PID), the milliseconds from the key press to the phones (first, median, 95th
percentile, last), and the size of a view. The key press includes the teacher's own run of the page. With `--teach` the phones
teach five signs of a folder of photographed digits, a signer each, and the held-out score is printed as it rises.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import re
import shutil
import statistics
import time
from collections import defaultdict
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import psutil
from playwright.async_api import Page, async_playwright

LESSON = "/attention-steps?part=softmax&ask=true&lang=en"
SIGNS = ("0", "1", "2", "5", "8")
PAUSE_S = 1.0
TEACH_S = 4.0
LAST_S = 15.0
"""Seconds between a phone's pictures, and after its last one, in which scores still come."""


async def phone(address: str, got: list[tuple[float, int]]) -> None:
    """Take what comes, and note when a view came and how long it was; answer each question once."""
    answered = set[str]()
    async with aiohttp.ClientSession() as session, session.ws_connect(address, max_msg_size=0) as socket:
        async for one in socket:
            message = json.loads(one.data)
            if message.get("view"):
                got.append((time.perf_counter(), len(one.data)))
            question = message.get("question")
            if question and not question["revealed"] and question["key"] not in answered:
                answered.add(question["key"])
                await socket.send_json({"answer": [question["key"], 0]})


async def opened(page: Page, url: str) -> str:
    """Open a class on a page; the address of its socket."""
    await page.get_by_text("For the class").click(timeout=90_000)
    await page.wait_for_url(re.compile("class="))
    code = re.search(r"class=(\w+)", page.url)
    return f"ws://{urlsplit(url).netloc}/class/{code[1] if code else ''}/socket?lang="


def lessons(folder: Path, phones: int) -> list[list[tuple[int, bytes]]]:
    """A photograph of each sign for each phone, of one signer each; each phone begins with another sign."""
    by_signer: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
    with (folder / "manifest.csv").open(encoding="utf-8", newline="") as file:
        for one in csv.DictReader(file):
            if one["digit"] in SIGNS:
                by_signer[one["run_id"]].append((SIGNS.index(one["digit"]), (folder / one["path"]).read_bytes()))
    given = list(by_signer.values())[:phones]
    return [one[place % len(one) :] + one[: place % len(one)] for place, one in enumerate(given)]


async def teach(address: str, pictures: list[tuple[int, bytes]], waits: list[float], scores: dict[int, str]) -> None:
    """Send each picture as a phone does, each after a while; note its wait, and the score by the pictures that it is of."""
    asked: list[float] = []

    async def send(socket: aiohttp.ClientWebSocketResponse) -> None:
        for row, jpeg in pictures:
            asked.append(time.perf_counter())
            await socket.send_bytes(bytes([row]) + jpeg)
            await asyncio.sleep(TEACH_S)
        await asyncio.sleep(LAST_S)
        await socket.close()

    async with aiohttp.ClientSession() as session, session.ws_connect(address + "en", max_msg_size=0) as socket:
        sending = asyncio.create_task(send(socket))
        taken = 0
        async for one in socket:
            message = json.loads(one.data)
            if score := (message.get("lessons") or {}).get("score"):
                scores[score["pictures"]] = "{share:.1%} ({low:.1%} to {high:.1%})".format(**score)
            if "taken" in message:
                waits.append(1000 * (time.perf_counter() - asked[taken]))
                taken += 1
        await sending


async def teaching(asked: argparse.Namespace, page: Page) -> None:
    """Have the phones teach, and print what it took."""
    await page.goto(asked.url + "/own-classes?lang=en")
    await page.get_by_role("textbox", name="Names of your classes").fill(", ".join(SIGNS))
    await page.keyboard.press("Enter")
    await page.get_by_text(f"{SIGNS[0]}: 0 pictures").wait_for(timeout=90_000)
    address, process = await opened(page, asked.url), psutil.Process(asked.pid) if asked.pid else None
    await asyncio.sleep(5)
    before, began = sum(process.cpu_times()[:2]) if process else 0.0, time.perf_counter()
    waits, scores = list[float](), dict[int, str]()
    given = lessons(asked.teach, asked.phones)
    await asyncio.gather(*(teach(address, pictures, waits, scores) for pictures in given))
    took = time.perf_counter() - began
    used = sum(process.cpu_times()[:2]) - before if process else 0.0
    waits.sort()
    print(
        f"{asked.phones} phones, {sum(map(len, given))} pictures in {took:.0f} s, {len(waits)} taken; {used:.1f} s of processor"
    )
    print(
        f"to the answer: median {statistics.median(waits):.0f} ms, p95 {waits[int(0.95 * len(waits))]:.0f}, last {waits[-1]:.0f}"
    )
    for pictures, line in sorted(scores.items()):
        print(f"{pictures} pictures: {line}")


async def moving(asked: argparse.Namespace, page: Page) -> None:
    """Move a dial, and print when the phones got it."""
    await page.goto(asked.url + LESSON)
    address = await opened(page, asked.url)
    got: list[list[tuple[float, int]]] = [[] for _ in range(asked.phones)]
    phones = [asyncio.create_task(phone(f"{address}{'en' if n % 2 else 'es'}", one)) for n, one in enumerate(got)]
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
    late = waits[int(0.95 * len(waits))]
    print(f"{asked.phones} phones, {asked.moves} moves in {took:.0f} s; a view has {got[0][-1][1]:,} characters")
    print(f"received {len(waits)} of {asked.phones * asked.moves}; processor time {used / took:.2f} s a second")
    middle = statistics.median(waits)
    print(f"key press to phone: first {waits[0]:.0f} ms, median {middle:.0f}, p95 {late:.0f}, last {waits[-1]:.0f}")


async def main() -> None:
    """Run it and print the numbers."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("url")
    options.add_argument("--pid", type=int)
    options.add_argument("--phones", type=int, default=60)
    options.add_argument("--moves", type=int, default=30)
    options.add_argument("--teach", type=Path, metavar="DIR")
    options.add_argument("--chromium", default=shutil.which("chromium-headless-shell"))
    asked = options.parse_args()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=asked.chromium)
        await (teaching if asked.teach else moving)(asked, await browser.new_page())
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
