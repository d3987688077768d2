"""The leakage lab's page: trained at the press of a button, then every mistake beside the honest score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import streamlit as st

from core.lecture import leakage
from core.lecture.leakage import Mistake, TrainedLab
from core.market.book import BookRows
from tests.pages.open_page import open_page, ran, words

PAGE = Path(__file__).parents[3] / "pages" / "learn" / "leakage.py"


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[Mistake, ...], TrainedLab]:
    """What the page trains, one epoch each, by its mistakes; nothing kept from elsewhere."""
    st.cache_resource.clear()
    st.cache_data.clear()
    kept, run = {}, leakage.run

    def keep(rows: BookRows, horizon: int, mistakes: tuple[Mistake, ...], **options: Any) -> TrainedLab:
        kept[mistakes] = run(rows, horizon, mistakes, epochs=1, **options)
        return kept[mistakes]

    monkeypatch.setattr(leakage, "run", keep)
    return kept


def test_every_mistake_stands_beside_the_honest_score(trained: dict[tuple[Mistake, ...], TrainedLab]) -> None:
    app = open_page(PAGE)
    assert not app.dataframe
    app.button(key="leakage:train").click()
    table = ran(app).dataframe[0].value
    assert len(table) == 7 and table["Measured"].iloc[0] == "honest"
    app.toggle(key="leak_epoch").set_value(True)
    app.toggle(key="leak_threshold").set_value(True)
    table = ran(app).dataframe[0].value  # nothing further is to be trained for these two
    assert table["Measured"].iloc[-1] == "those chosen, together"
    assert set(trained) == {(), ("label",), ("shuffle",), ("scaling",), ("threshold",)}
    expected = leakage.measure(trained["threshold",], ["epoch", "threshold"])
    assert table["Matthews"].iloc[-1] == f"{expected.network.mean():.3f}"
    assert "Best epoch by test score." in words(app) and "Shuffled split." not in words(app)
