"""Write docs/faults.md: what the market pages say and do at each fault of an exchange. `python -m scripts.fault_table`.

A server on the loopback speaks Binance's, Kraken's and Bybit's protocols and misbehaves; the feed, with the real ccxt, is
predicted, scored and recorded. All of it takes about ten minutes; three faults at a time run in one process.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from core.device import use_one_thread
from core.market.predictor import Predictor
from tests.core.market.feeds.delta_server import DeltaServer
from tests.core.market.feeds.fault_outcomes import Outcome, try_fault
from tests.core.market.feeds.venue_faults import BY_NAME, FAULTS, VENUES, Fault
from tests.core.market.helpers import real_rows, tiny_config, tiny_predictor

OUT = Path(__file__).resolve().parent.parent / "docs" / "faults.md"
HEAD = """# Faults of an exchange

Made by `python -m scripts.fault_table` (tests/core/market/feeds/venue_faults.py holds the faults): a server on the loopback
speaks Binance's, Kraken's and Bybit's protocols as the installed ccxt reads them, its market moves fifty times a second, and it
misbehaves. A session predicts and scores the feed, a recorder records it. A row is wrong where it equals no book that the venue
had in the second before (longer by as long as the process itself was held up).

- **noticed**: seconds from the beginning of the fault until the feed announced a break or ended; a dash where nothing was to be
  announced.
- **live again**: seconds from the venue's recovery to the first book after the last break.
- **wrong**: rows recorded, predicted from, scored. Bar: none.
- **withdrawn**: wrong rows that were on the page as provisional until the break was noticed; they are scored and recorded nowhere
  ([D27](decisions.md#d27)).

A refusal for the place (451) and a market that is no longer traded end the feed with a sentence, since another attempt would get
the same answer. A `Retry-After` header is waited for.

| venue | fault | noticed, s | live again, s | wrong | withdrawn | what the page says |
| --- | --- | ---: | ---: | ---: | ---: | --- |
"""


def line(outcome: Outcome) -> str:
    """A row of the table."""
    wrong = " / ".join(str(outcome.wrong[kind]) for kind in ("recorded", "predicted", "scored"))
    said = [re.sub(r"^\w+: ", "", one) for one in outcome.said if ": " in one or one == "stale"]
    said = list(dict.fromkeys(re.sub(r"(connecting again|trying again in \d+ s)", "…", one) for one in said)) or [
        "nothing: it stays live"
    ]
    numbers = ("–" if value is None else f"{value:.1f}" for value in (outcome.noticed_s, outcome.live_s))
    return f"| {outcome.venue} | {outcome.fault} | {' | '.join(numbers)} | {wrong} | {outcome.shown} | {' '.join(said)} |"


async def run(
    faults: Sequence[Fault],
    venues: Sequence[type[DeltaServer]],
    predictor: Predictor,
    folder: Path,
    at_once: int,
    times: int = 1,
) -> list[Outcome]:
    """Try all faults at all venues; those that need the processor or the clock for themselves come last, one at a time."""
    together = asyncio.Semaphore(at_once)
    pairs = [(make, fault) for fault in faults for make in venues] * times
    done = count()

    async def one(make: type[DeltaServer], fault: Fault) -> Outcome:
        async with together:
            outcomes = await try_fault(make, fault, predictor, Path(tempfile.mkdtemp(dir=folder)))
            print(f"{next(done) + 1}/{len(pairs)} {line(outcomes)}", *outcomes.details, sep="\n    ", file=sys.stderr, flush=True)
            return outcomes

    outcomes = list(await asyncio.gather(*(one(make, fault) for make, fault in pairs if not fault.alone)))
    for make, fault in pairs:
        if fault.alone:
            outcomes.append(await one(make, fault))
    order = [(make.exchange, fault.name) for make, fault in pairs]
    return sorted(outcomes, key=lambda one: order.index((one.venue, one.fault)))


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    known = {make.exchange: make for make in VENUES}
    parser.add_argument("--venue", nargs="+", choices=sorted(known), help="these venues, printed and not written")
    parser.add_argument("--fault", nargs="+", metavar="WORDS", help="faults whose name begins so, printed and not written")
    parser.add_argument("--times", type=int, default=1, help="how often each is tried, printed and not written if more than once")
    parser.add_argument("--at-once", type=int, default=3, help="faults tried at the same time")
    o = parser.parse_args()
    use_one_thread()
    faults = [fault for fault in FAULTS if o.fault is None or fault.name.startswith(tuple(o.fault))]
    if not faults:
        parser.error(f"no fault begins so: the faults are {', '.join(BY_NAME)}")
    venues = [known[name] for name in o.venue or known]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "checkpoint").mkdir()
        predictor = tiny_predictor(folder / "checkpoint", real_rows(4), (("forward", 5),), config=tiny_config(1, steps=8))
        outcomes = asyncio.run(run(faults, venues, predictor, folder, o.at_once, o.times))
    text = HEAD + "\n".join(map(line, outcomes)) + "\n"
    wrong = sum(not one.sound for one in outcomes)
    late = [one.live_s for one in outcomes if one.live_s is not None]
    slowest = max(late, default=0.0)
    text += f"\n{len(outcomes)} lines, {wrong} with a wrong row; live again within {slowest:.1f} s of the recovery at most.\n"
    if o.fault or o.venue or o.times > 1:
        print(text.removeprefix(HEAD))
    else:
        OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
