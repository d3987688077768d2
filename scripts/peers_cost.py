"""Measures what forecasters cost a live step: `python -m scripts.peers_cost RECORDING [--peers NAME...]`.

A session plays a recording, first with TLOB alone, then with all forecasters beside it, and prints the time from a book received
to its prediction, in which forecasters may not delay TLOB, and the processor's time of the whole process per step: the cost.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from pathlib import Path

from core.device import use_one_thread
from core.market.feeds.recording import RecordingFeed
from core.market.forecasters.catalogue import SHIPPED
from core.market.predictor import load_predictor
from core.market.session import MarketSession


def measure(path: Path, peers: list[str], steps: int, speed: float) -> tuple[float, float, dict[str, str]]:
    """Median milliseconds from book to prediction, processor milliseconds per step, and what each forecaster answered."""
    predictor = load_predictor()
    session = MarketSession(RecordingFeed(path, market=path.stem, speed=speed, lead=predictor.window, loop=True), predictor)
    session.peers.request(peers)

    async def run() -> float:
        task = asyncio.create_task(session.run())
        while session.step < predictor.window + 40:  # forecasters are loaded meanwhile
            await asyncio.sleep(0.05)
        session.peers.request(peers)
        first, used = session.step, time.process_time()
        while session.step < first + steps:
            await asyncio.sleep(0.05)
        cost = (time.process_time() - used) * 1e3 / (session.step - first)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return cost

    cost = asyncio.run(run())
    last = len(predictor.heads) - 1
    answered = {score.name: f"{score.rows} scored, missing {score.missing}" for score in session.peers.scores(last)}
    total = session.view().latency.total[0]
    session.peers.stop()
    return total, cost, answered


def main() -> None:
    """Print one line for TLOB alone, one for all, and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("recording", type=Path)
    parser.add_argument("--peers", nargs="*", default=list(SHIPPED))
    parser.add_argument("--steps", type=int, default=160)
    parser.add_argument("--speed", type=float, default=1.0, help="of the playback: 1 is four steps a second")
    options = parser.parse_args()
    use_one_thread()
    alone, cost_alone, _ = measure(options.recording, [], options.steps, options.speed)
    beside, cost, answered = measure(options.recording, options.peers, options.steps, options.speed)
    print(f"TLOB alone:            {alone:.1f} ms from book to prediction, {cost_alone:.1f} ms of the processor per step")
    print(f"with {', '.join(options.peers)}: {beside:.1f} ms, {cost:.1f} ms of the processor per step")
    print(f"ratio: {beside / alone:.2f} of the time to a prediction, {cost / cost_alone:.2f} of the processor's time")
    for name, told in answered.items():
        print(f"  {name}: {told}")


if __name__ == "__main__":
    main()
