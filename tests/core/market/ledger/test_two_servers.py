"""Two servers with one ledger's folder and nothing else between them: neither writes into the other's chain."""

from __future__ import annotations

from pathlib import Path

import pytest

from core import checkpoints
from core.market.book import BookRows
from core.market.ledger import writer as writer_module
from core.market.ledger.keeper import LedgerKeeper
from core.market.ledger.records import LedgerError
from core.market.ledger.verification import shipped_predictors, verify
from core.market.predictor import Predictor
from tests.core.market.helpers import random_book, tiny_predictor
from tests.core.market.ledger.test_ledger import MARKET, steps, writer_for


@pytest.fixture(scope="module")
def rows() -> BookRows:
    return random_book(120, seed=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, rows: BookRows) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints")
    tiny_predictor(folder, rows)
    return folder


@pytest.fixture(scope="module")
def predictor(folder: Path) -> Predictor:
    return Predictor(checkpoints.load("tiny", folder=folder))


def test_each_has_a_chain_of_its_own_and_continues_one_that_is_free(
    tmp_path: Path, rows: BookRows, predictor: Predictor, folder: Path
) -> None:
    lines = steps(rows, predictor)
    one, two = (writer_for(tmp_path, predictor, folder, clock_ms=lambda: 0) for _ in range(2))
    for start in range(0, len(lines), 10):  # turn by turn, as two servers that watch the same market
        one.write(lines[start : start + 10])
        two.write(lines[start : start + 10])
    assert [one.folder.name, two.folder.name] == ["testville-ABC-USDT", "testville-ABC-USDT_2"]
    one.close()
    two.close()
    result = verify(tmp_path, shipped_predictors(folder))
    count = len(rows) - predictor.window + 1
    assert result.difference is None and result.rows == result.recomputed == 2 * count and len(result.heads) == 2
    with writer_for(tmp_path, predictor, folder) as again:
        assert (again.folder, again.count, again.head) == (one.folder, count, one.head)


def test_a_folder_that_cannot_be_locked_and_a_store_are_refused_in_one_sentence(
    tmp_path: Path, rows: BookRows, predictor: Predictor, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(writer_module, "lock", lambda file: False)
        with pytest.raises(LedgerError, match="give each server a ledger of its own by OBSERVATORY_LEDGER"):
            writer_for(tmp_path, predictor, folder)
    monkeypatch.chdir(tmp_path)
    keeper = LedgerKeeper(Path("s3://bucket/ledger"), MARKET, predictor, checkpoints=folder)
    keeper.take(steps(rows, predictor)[:1])
    assert keeper.problem is not None and "is no folder of this machine" in str(keeper.problem)
    assert not (tmp_path / "s3:").exists()
