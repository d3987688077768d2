"""What the terminal reads of the deletion test of a forecast's reasons."""

import json
from pathlib import Path

import pytest

from core.explain.faithfulness import FOLDER, FindingError
from core.market.predictor import load_predictor
from core.market.reasons import GROUPS
from core.market.reasons_measured import read

SPELLINGS = {
    "live/binance/BTC/USDT BTC/USDT": "Binance BTC/USDT",
    "live/binance/BTC/USDT:USDT BTC/USDT:USDT": "Binance BTC/USDT:USDT",
    "recording/binance_spot_nexousdt_2024-07-24 NEXO/USDT": "Binance NEXO/USDT",
    "live/kraken/BTC/USDT BTC/USDT": None,
}


def test_the_shipped_test_is_of_the_shipped_weights_and_known_by_market(tmp_path: Path) -> None:
    card = load_predictor("tlob").card
    stored = json.loads((FOLDER / "reasons_tlob.json").read_text(encoding="utf-8"))
    markets = {one["name"]: one for one in stored["markets"]}
    assert stored["heads"] == card["heads"]
    assert all(len(one["areas"]) == len(card["heads"]) and len(one["gives"][0]) == len(GROUPS) for one in stored["markets"])
    for spelling, name in SPELLINGS.items():
        one = read(spelling, "tlob", card["weights_sha256"])
        assert (one and one.name) == name
        if one is not None:
            assert (one.windows, [list(area) for area in one.areas]) == (markets[one.name]["windows"], markets[one.name]["areas"])
    known = next(iter(SPELLINGS))
    (tmp_path / "reasons_tlob.json").write_text(json.dumps(stored | {"weights_sha256": "other"}))
    assert read(known, "tlob", card["weights_sha256"], folder=tmp_path) is None
    assert read(known, "tlob", "other", folder=tmp_path) == read(known, "tlob", card["weights_sha256"])
    (tmp_path / "reasons_tlob.json").write_text("{}", encoding="utf-8")
    with pytest.raises(
        FindingError,
        match=r"^reasons_tlob.json does not hold findings: run `git checkout assets/explain/reasons_tlob.json` again \(",
    ):
        read(known, "tlob", "other", folder=tmp_path)
