"""Measures what forecasters cost a live step: `python -m scripts.peers_cost RECORDING [--peers NAME...]`.

A session plays a recording, in turns with TLOB alone and with all forecasters beside it, so that both meet the same load, and
prints the processor's time of the whole process per step and the time from a book received to TLOB's prediction, as ratios too.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path
from statistics import median

from core.device import use_one_thread
from core.market.feeds.recording import RecordingFeed
from core.market.forecasters.catalogue import SHIPPED
from core.market.predictor import load_predictor
from core.market.session import MarketSession

TURN = 20
"""Steps of one turn: five seconds at the usual pace."""


async def measure(session: MarketSession, peers: list[str], turns: int) -> dict[bool, list[tuple[float, float]]]:
    """Milliseconds of the processor per step, and from book to prediction, for each turn, without and with forecasters."""
    task = asyncio.create_task(session.run())
    session.peers.request(peers)
    while session.step < session.predictor.window + TURN or not session.peers.loaded:
        await asyncio.sleep(0.05)
    hand_over, found = session.peers.offer, dict[bool, list[tuple[float, float]]]({False: [], True: []})
    for turn in range(2 * turns):
        beside = bool(turn % 2)
        session.peers.offer = hand_over if beside else _nothing  # type: ignore[method-assign]
        session.peers.request(peers)
        first, used = session.step, time.process_time()
        while session.step < first + TURN:
            await asyncio.sleep(0.05)
        cost = (time.process_time() - used) * 1e3 / (session.step - first)
        found[beside].append((cost, median(total for *_, total in list(session.latencies.batches)[-TURN:])))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return found


def _nothing(*_: object) -> None:
    """No forecaster is asked."""


def main() -> None:
    """Print both, the ratios, and what each forecaster answered."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("recording", type=Path)
    parser.add_argument("--peers", nargs="*", default=list(SHIPPED))
    parser.add_argument("--turns", type=int, default=5, help="of each kind")
    options = parser.parse_args()
    use_one_thread()
    predictor = load_predictor()
    feed = RecordingFeed(options.recording, market=options.recording.stem, lead=predictor.window, loop=True)
    session = MarketSession(feed, predictor)
    found = asyncio.run(measure(session, options.peers, options.turns))
    (cost, total), (cost_beside, total_beside) = (
        tuple(median(column) for column in zip(*found[beside], strict=True)) for beside in (False, True)
    )
    print(f"TLOB alone: {cost:.1f} ms of the processor per step, {total:.1f} ms from book to prediction")
    print(f"with {', '.join(options.peers)}: {cost_beside:.1f} ms, {total_beside:.1f} ms")
    print(f"ratios: {cost_beside / cost:.2f} of the processor's time, {total_beside / total:.2f} of the time to a prediction")
    for score in session.peers.scores(len(predictor.heads) - 1):
        print(f"  {score.name}: {score.rows} scored, missing {score.missing} {score.reason}")
    session.peers.stop()


if __name__ == "__main__":
    main()
