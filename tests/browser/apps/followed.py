"""The app as it is, but for Kraken's address, which is a server of this machine at the port that is named."""

from __future__ import annotations

import os
import sys
from typing import Any

from streamlit.web import cli

from core.market.feeds import catalogue, live, venues
from tests.core.market.feeds.trading_servers import TradingKraken

HERE = TradingKraken()
HERE.port = int(sys.argv[1])


def exchange_here(exchange: str, symbol: str | None = None, configure: venues.Configure | None = None) -> Any:
    """As `make_exchange`; Kraken's is at the server."""
    made = venues.make_exchange(exchange, symbol, configure)
    if exchange == HERE.exchange:
        HERE.configure(made)
    return made


live.make_exchange = catalogue.make_exchange = exchange_here  # type: ignore[attr-defined]
cli.main(["run", "streamlit_app.py", "--server.port", os.environ["PORT"]])
