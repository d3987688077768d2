"""A small market, its checkpoint and its honest ledger, made once a module."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core import checkpoints
from core.market.book import BookRows
from core.market.predictor import Predictor
from tests.core.market.helpers import random_book, tiny_predictor
from tests.core.market.ledger.ledgers import three_days, write_all


@pytest.fixture(scope="module")
def rows() -> BookRows:
    return random_book(180, seed=3)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory, rows: BookRows) -> Path:
    """The folder of the checkpoint `tiny`."""
    folder = tmp_path_factory.mktemp("checkpoints")
    tiny_predictor(folder, rows)
    return folder


@pytest.fixture(scope="module")
def predictor(shelf: Path) -> Predictor:
    return Predictor(checkpoints.load("tiny", folder=shelf))


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory, rows: BookRows, predictor: Predictor) -> tuple[Path, str]:
    """A ledger of three days, not to be written to, and its newest head."""
    folder = tmp_path_factory.mktemp("honest") / "ledger"
    return folder, write_all(folder, three_days(predictor, rows), predictor).head


@pytest.fixture
def ledger(tmp_path: Path, honest: tuple[Path, str]) -> Path:
    """A copy of the honest ledger."""
    return Path(shutil.copytree(honest[0], tmp_path / "ledger"))


@pytest.fixture
def head(honest: tuple[Path, str]) -> str:
    """The honest ledger's newest head."""
    return honest[1]
