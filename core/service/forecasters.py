"""Forecasters as a visitor may run them: those that the server offers, and a file of one's own where the table lets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

from core.market.forecasters.catalogue import AnyForecaster, find_forecaster
from core.market.forecasters.catalogue import offered as offered
from core.market.forecasters.comparison import names_of
from core.market.forecasters.protocol import ForecastTask
from core.market.forecasters.table import TableForecaster
from core.market.session import MarketSession
from core.service.access import Action, Visitor, closed


def run_beside(by: Visitor, session: MarketSession, spellings: Sequence[str]) -> None:
    """Have forecasters answer each row of a session, as `LivePeers.request`.

    Raises:
        NotAllowed: for a file or an address that the environment does not name.
    """
    _check(by, spellings)
    session.peers.request(list(spellings))


def of_server(by: Visitor, spellings: Sequence[str], task: ForecastTask) -> dict[str, AnyForecaster]:
    """Forecasters that the server offers, by their names.

    Raises:
        NotAllowed: for a file or an address that the environment does not name. ForecasterError: as `find_forecaster`.
    """
    _check(by, spellings)
    return {name: find_forecaster(spelling, task) for spelling, name in names_of(list(spellings)).items()}


@closed(Action.ADD_FORECASTER)
def of_visitor(file: IO[bytes], task: ForecastTask, *, name: str) -> TableForecaster:
    """A visitor's own file of probabilities.

    Raises:
        ForecasterError: where it cannot be read.
    """
    return TableForecaster.read(file, task, name=name)


def _check(by: Visitor, spellings: Sequence[str]) -> None:
    if not set(spellings) <= set(offered()):
        by.require(Action.SET_UP)
