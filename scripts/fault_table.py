"""Write docs/faults.md: what the market pages say and do at each fault of an exchange. `python -m scripts.fault_table`.

Servers on the loopback misbehave in the protocols of twelve venues; the feed, with the real ccxt, is predicted, scored and
recorded. All of it takes about twenty minutes; some faults at a time run in one process. With `--keep FILE` it goes by slices:
what the file holds is not tried again, and the document is written once all is there. What left a wrong row is tried again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from statistics import median
from typing import Final

from core.device import use_one_thread
from core.market.feeds.stream_checks import Way, venue_check
from core.market.feeds.venues import make_exchange
from core.market.predictor import Predictor
from tests.core.market.feeds.delta_server import VenueServer
from tests.core.market.feeds.fault_outcomes import Outcome, try_fault
from tests.core.market.feeds.venue_faults import BY_NAME, FAULTS, MADE, VENUES, Fault
from tests.core.market.helpers import real_rows, tiny_config, tiny_predictor

AGAIN: Final = 4
"""Times that a try which left a wrong row is repeated."""
OUT = Path(__file__).resolve().parent.parent / "docs" / "faults.md"
HEAD = """# Faults of an exchange

Made by `python -m scripts.fault_table` (tests/core/market/feeds/venue_faults.py holds the faults). Servers on the loopback send
what nine venues really sent (2021 and 2022, tests/fixtures/venue_wire), and the changes of a made-up market, fifty a second, in
the protocols of three more; the installed ccxt reads them, and they misbehave. A session predicts and scores the feed, a recorder
records it. A row is wrong where it equals no book that the venue had in the second before (longer by as long as the process
itself was held up); the venue's book is kept by plain dictionaries.

- **noticed**: seconds from the beginning of the fault until the feed announced a break or ended; a dash where nothing was to be
  announced.
- **live again**: seconds from the venue's recovery to the first book after the last break, of the slowest venue.
- **wrong**: rows recorded, predicted from, scored. Bar: none.
- **withdrawn**: wrong rows that were on the page as provisional until the break was noticed; they are scored and recorded nowhere
  ([D27](decisions.md#d27)).

A refusal for the place (451) and a market that is no longer traded end the feed with a sentence, since another attempt would get
the same answer. A `Retry-After` header is waited for.

"""
VENUES_HEAD = """## By venue

How a lost update is noticed is in `core/market/feeds/stream_checks.py`, from the source of ccxt 4.5.90; the page where an
exchange is chosen shows it of all. KuCoin's whole books are made from the captured changes. Deribit's captured markets have fewer
than ten levels a side: its numbers alone are tried. ccxt no longer reads what was captured of Kraken, Bybit and Bitget, and has
no socket for BitMEX. Where updates are neither numbered nor summed, one that is lost and overwritten before the next comparison
goes unnoticed: those lost here were not overwritten for four seconds.

| venue | market | from | a lost update is noticed by | faults | wrong | withdrawn | live again, s |
| --- | --- | --- | --- | ---: | ---: | ---: | ---: |
"""
FAULTS_HEAD = """
## By fault

| fault | venues | noticed, s | wrong | withdrawn | live again, s | what the page says |
| --- | ---: | ---: | ---: | ---: | ---: | --- |
"""
WAYS = {
    Way.NUMBERS: "numbers",
    Way.CHECKSUM: "checksums",
    Way.WHOLE: "each message being a whole book",
    Way.COMPARED: "comparison with the book on request",
}


def said(outcome: Outcome) -> list[str]:
    """Sentences of the page, without names, numbers and waits; captured books are old, which it says too."""
    made = outcome.venue in {make.exchange for make in MADE}
    kept = [one for one in outcome.said if ": " in one and (made or "late by their own time" not in one)]
    sentences = [re.sub(r"^\w+: ", "", one) for one in kept]
    name = re.escape(str(make_exchange(outcome.venue).name))
    for pattern, plain in (
        (name, "X"),
        (r"\b[A-Z]{3,4}/[A-Z:]+", "the market"),
        (r"; (connecting again|trying again in \d+ s)", ""),
        (r"more than \d+ s", "more than an hour"),
        (r"the book has \d+ asks and \d+ bids", "the book is short"),
    ):
        sentences = [re.sub(pattern, plain, one) for one in sentences]
    return list(dict.fromkeys(sentences)) or ["Nothing: it stays live."]


def numbers(outcomes: Sequence[Outcome]) -> str:
    """The cells about wrong rows and the time to be live again."""
    wrong = " / ".join(str(sum(one.wrong[kind] for one in outcomes)) for kind in ("recorded", "predicted", "scored"))
    live = [one.live_s for one in outcomes if one.live_s is not None]
    return f"{wrong} | {sum(one.shown for one in outcomes)} | {f'{max(live):.1f}' if live else '–'}"


def by_venue(outcomes: Sequence[Outcome], venues: Sequence[type[VenueServer]]) -> list[str]:
    """A row for each venue."""
    rows = []
    for make in venues:
        mine = [one for one in outcomes if one.venue == make.exchange]
        origin = "made up" if make in MADE else f"{len(make())} messages"  # type: ignore[arg-type]  # those have a length
        way = WAYS[venue_check(make.exchange).way]
        rows.append(f"| {make.exchange} | {make.symbol} | {origin} | {way} | {len(mine)} | {numbers(mine)} |")
    return rows


def by_fault(outcomes: Sequence[Outcome]) -> list[str]:
    """A row for each fault."""
    rows = []
    for fault in dict.fromkeys(one.fault for one in outcomes):
        same = [one for one in outcomes if one.fault == fault]
        noticed = [one.noticed_s for one in same if one.noticed_s is not None]
        span = f"{min(noticed):.1f} to {max(noticed):.1f}" if noticed else "–"
        often = Counter(sentence for one in same for sentence in said(one))
        told = " ".join(f"{sentence} ({count})" if len(often) > 1 else sentence for sentence, count in often.most_common())
        rows.append(f"| {fault} | {len(same)} | {span} | {numbers(same)} | {told} |")
    return rows


def line(outcome: Outcome) -> str:
    """One outcome, for whoever waits."""
    noticed, live = ("–" if value is None else f"{value:.1f}" for value in (outcome.noticed_s, outcome.live_s))
    return f"{outcome.venue} {outcome.fault}: noticed {noticed}, live {live}, wrong {outcome.wrong}: {' '.join(said(outcome))}"


Pair = tuple[type[VenueServer], Fault]


@dataclass(frozen=True, kw_only=True)
class Try:
    """One try: what came of it, and the machine's load in the minute before."""

    outcome: Outcome
    load: float

    @classmethod
    def from_json(cls, text: str) -> Try:
        """The inverse of `to_json`."""
        values = json.loads(text)
        return cls(outcome=Outcome(**values["outcome"]), load=values["load"])

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))


def pairs_of(faults: Sequence[Fault], venues: Sequence[type[VenueServer]]) -> list[Pair]:
    """Each fault at each venue whose protocol can have it."""
    return [(make, fault) for fault in faults for make in venues if (fault.made if make in MADE else fault.captured)]


async def run(pairs: Sequence[Pair], predictor: Predictor, folder: Path, at_once: int, kept: Path | None = None) -> list[Try]:
    """Try faults at venues; those that need the processor or the clock for themselves come last, one at a time.

    Args:
        kept: file to which each try is added once it is over.
    """
    together = asyncio.Semaphore(at_once)
    tries, done = list[Try](), count()

    async def one(make: type[VenueServer], fault: Fault) -> None:
        async with together:
            try:
                outcomes = await try_fault(make, fault, predictor, Path(tempfile.mkdtemp(dir=folder)))
            except TimeoutError:  # the machine was too busy for a feed to have rows before the fault
                print(f"{make.exchange} {fault.name} again", file=sys.stderr, flush=True)
                outcomes = await try_fault(make, fault, predictor, Path(tempfile.mkdtemp(dir=folder)))
            print(f"{next(done) + 1}/{len(pairs)} {line(outcomes)}", *outcomes.details, sep="\n    ", file=sys.stderr, flush=True)
            tries.append(Try(outcome=outcomes, load=os.getloadavg()[0]))
            if kept is not None:
                with kept.open("a", encoding="utf-8") as file:
                    file.write(f"{tries[-1].to_json()}\n")

    await asyncio.gather(*(one(make, fault) for make, fault in pairs if not fault.alone))
    for make, fault in pairs:
        if fault.alone:
            await one(make, fault)
    return tries


def tail(tries: Sequence[Try], again: Sequence[Try]) -> str:
    """The last sentences: how many tries, on how busy a machine, and what came of those with a wrong row when tried again."""
    outcomes, loads, cores = [one.outcome for one in tries], [one.load for one in [*tries, *again]], os.cpu_count()
    wrong = [one for one in outcomes if not one.sound]
    slowest = max((one.live_s for one in outcomes if one.live_s is not None), default=0.0)
    text = f"{len(outcomes)} tries, {len(wrong)} with a wrong row; live again within {slowest:.1f} s of the recovery at most. "
    text += f"Load of the machine's {cores} cores meanwhile: {median(loads):.1f} in the middle, {max(loads):.1f} at most.\n"
    for one in wrong:
        same = [other.outcome for other in again if (other.outcome.venue, other.outcome.fault) == (one.venue, one.fault)]
        bad = sum(not other.sound for other in same)
        text += f"\n- {one.venue}, {one.fault}: tried again by itself, {bad} of {len(same)} left a wrong row."
    return f"{text.rstrip()}\n"


def main() -> None:
    """Try, and write or print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    known = {make.exchange: make for make in VENUES}
    parser.add_argument("--venue", nargs="+", choices=sorted(known), help="these venues, printed and not written")
    parser.add_argument("--fault", nargs="+", metavar="WORDS", help="faults whose name begins so, printed and not written")
    parser.add_argument("--at-once", type=int, default=3, help="faults tried at the same time")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="tries are kept here, and those that are there not tried again")
    parser.add_argument("--most", type=int, help="tries of this slice, where they are kept")
    o = parser.parse_args()
    use_one_thread()
    if os.getloadavg()[0] > (os.cpu_count() or 1) / 2:
        print(
            "Other programs keep this machine busy: a venue's times, and rows over a second late, may be theirs.", file=sys.stderr
        )
    faults = [fault for fault in FAULTS if o.fault is None or fault.name.startswith(tuple(o.fault))]
    if not faults:
        parser.error(f"no fault begins so: the faults are {', '.join(BY_NAME)}")
    venues = [known[name] for name in o.venue or known]
    pairs = pairs_of(faults, venues)
    order = [(make.exchange, fault.name) for make, fault in pairs]
    tries = [Try.from_json(text) for text in o.keep.read_text().splitlines()] if o.keep and o.keep.exists() else []
    there = {(one.outcome.venue, one.outcome.fault) for one in tries}
    due = [pair for pair, name in zip(pairs, order, strict=True) if name not in there][: o.most]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "checkpoint").mkdir()
        predictor = tiny_predictor(folder / "checkpoint", real_rows(4), (("forward", 5),), config=tiny_config(1, steps=8))
        tries += asyncio.run(run(due, predictor, folder, o.at_once, o.keep))
        if len(tries) < len(pairs):
            print(f"{len(tries)} of {len(pairs)} tries are kept: the table is written once all are.")
            return
        tries.sort(key=lambda one: order.index((one.outcome.venue, one.outcome.fault)))
        wrong = [pair for pair, one in zip(pairs, tries, strict=True) if not one.outcome.sound]
        again = asyncio.run(run(wrong * AGAIN, predictor, folder, 1))
    outcomes = [one.outcome for one in tries]
    text = HEAD + VENUES_HEAD + "\n".join(by_venue(outcomes, venues)) + "\n" + FAULTS_HEAD + "\n".join(by_fault(outcomes))
    text += f"\n\n{tail(tries, again)}"
    if o.fault or o.venue:
        print(text.removeprefix(HEAD))
    else:
        OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
