"""Two servers with one ledger's folder and nothing else between them: neither writes into the other's chain."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.market.book import BookRows
from core.market.ledger import writer as writer_module
from core.market.ledger.chain import LedgerError
from core.market.ledger.writer import LedgerKeeper
from core.market.predictor import Predictor
from tests.core.market.ledger.ledgers import MARKET, NAME, checked, items, steps, writer_for


def test_each_has_a_chain_of_its_own_and_continues_one_that_is_free(
    tmp_path: Path, rows: BookRows, predictor: Predictor, shelf: Path
) -> None:
    lines = steps(rows, predictor)
    one, two = (writer_for(tmp_path, predictor) for _ in range(2))
    for start in range(0, len(lines), 10):  # turn by turn, as two servers that watch the same market
        one.write(items(lines[start : start + 10]))
        two.write(items(lines[start : start + 10]))
    assert [one.folder.name, two.folder.name] == [NAME, f"{NAME}_2"]
    one.close()
    two.close()
    result = checked(tmp_path, shelf, one.head, two.head)
    count = len(rows) - predictor.window + 1
    assert result.state == "verified" and [market.recomputed for market in result.markets] == [count, count]
    assert checked(tmp_path, shelf, one.head).state == "incomplete"
    with writer_for(tmp_path, predictor) as again:
        assert (again.folder, again.count, again.head) == (one.folder, count, one.head)


def test_a_folder_that_cannot_be_locked_and_a_store_are_refused_in_one_sentence(
    tmp_path: Path, rows: BookRows, predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(writer_module, "lock", lambda file: False)
        with pytest.raises(LedgerError, match="give each server a ledger of its own by OBSERVATORY_LEDGER"):
            writer_for(tmp_path, predictor)
    monkeypatch.chdir(tmp_path)
    keeper = LedgerKeeper(Path("s3://bucket/ledger"), MARKET, predictor)
    keeper.take(items(steps(rows, predictor)[:1]))
    assert keeper.problem is not None and "is no folder of this machine" in str(keeper.problem)
    assert not (tmp_path / "s3:").exists()
