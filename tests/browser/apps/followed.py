"""The app as it is, but for Kraken's address, which is a server of this machine at the port that is named."""

from __future__ import annotations

import os
import sys

from streamlit.web import cli

from core.market.feeds import catalogue, live
from tests.core.market.feeds.replay_server import TradingKraken

HERE = TradingKraken()
HERE.port = int(sys.argv[1])
live.make_exchange = catalogue.make_exchange = HERE.make_exchange  # type: ignore[attr-defined]
cli.main(["run", "streamlit_app.py", "--server.port", os.environ["PORT"]])
