"""A few lines of the fault table (`docs/faults.md`), one of each kind, all at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.core.market.feeds.delta_server import BinanceDeltaServer, BybitServer, KrakenServer
from tests.core.market.feeds.fault_outcomes import Outcome, try_fault
from tests.core.market.feeds.venue_faults import BY_NAME
from tests.core.market.feeds.virtual_time import virtually
from tests.core.market.helpers import real_rows, tiny_config, tiny_predictor

LINES = (
    (KrakenServer, "reset"),
    (BybitServer, "crossed for 2 s"),
    (BinanceDeltaServer, "empty side for 2 s"),
    (BybitServer, "size NaN"),
    (KrakenServer, "delisted"),
)


def test_no_fault_leaves_a_wrong_row_and_the_feed_is_live_again(tmp_path: Path) -> None:
    predictor = tiny_predictor(tmp_path, real_rows(4), (("forward", 5),), config=tiny_config(1, steps=8))

    async def all_of_them() -> list[Outcome]:
        tries = (
            try_fault(make, BY_NAME[name], predictor, tmp_path / str(place), patience_s=1.0)
            for place, (make, name) in enumerate(LINES)
        )
        return await asyncio.gather(*tries)

    for found in virtually(all_of_them()):
        assert found.sound, found
        if BY_NAME[found.fault].ends:
            assert found.said[-1].startswith("failed: "), found
        else:
            assert found.live_s is not None and found.said[-1] in ("warming", "live"), found
            assert found.rows >= 20, found
