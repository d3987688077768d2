"""Steps of one market to its viewers, as the live page's stream does it: encoded once, and then written to each one's socket."""

from __future__ import annotations

import asyncio
import socket
from typing import Final

import numpy as np

from core.bench.pieces import window_rows
from core.bench.ratio import Work
from core.market.answers.scoreboard import PredictionLog
from core.market.book import STEP_MS
from core.market.session_view import Status
from core.market.stream import SCORES, FrameStream, SessionPresent, StepCollector

STEPS: Final = 20
HEADS: Final = 8


def watched(viewers: int) -> Work:
    """A work of `STEPS` steps for so many viewers; its time also holds their coming and going."""
    rows, dtype = window_rows(STEPS), PredictionLog(HEADS).dtype
    scores = np.zeros((HEADS, SCORES))

    async def steps() -> None:
        collector = StepCollector()
        pairs = [socket.socketpair() for _ in range(viewers)]
        watching = [asyncio.create_task(_view(collector.stream, near, far)) for near, far in pairs]
        await asyncio.sleep(0)
        for number, row in enumerate(rows):
            present = SessionPresent(
                step=number, status=Status.LIVE, warm=1, scores=scores, received_ms=0.0, provisional=0, began_ms=0.0, tick=0.01
            )
            collector.add_row(number * STEP_MS, row, None)
            collector.publish(lambda present=present: present, dtype)  # type: ignore[misc]
            await asyncio.sleep(0)  # they are woken, and then they write
            await asyncio.sleep(0)
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)

    return lambda: asyncio.run(steps())


async def _view(stream: FrameStream, near: socket.socket, far: socket.socket) -> None:
    """One viewer, until it is cancelled; its browser's end is emptied without being read."""
    with near, far, stream.subscribe() as subscription:
        version = stream.version
        while True:
            await subscription.changed.wait()
            subscription.changed.clear()
            for frame in stream.after(version) or []:  # none where the first step has only begun the stream
                near.send(frame)
                far.recv(len(frame))
            version = stream.version
