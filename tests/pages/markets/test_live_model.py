"""The card on the live page: the shipped model's test results stand beside the rules', and beside the document's form (D6)."""

from __future__ import annotations

import pytest

from core import checkpoints
from core.market.labels import LabelKind
from pages.markets import live_model
from pages.markets.live_controls import ViewChoices


def choices(label: LabelKind) -> ViewChoices:
    return ViewChoices(head=0, label=label, horizon=10, heads_of_label=(0,))


def test_the_documents_form_stands_beside_the_shipped_model() -> None:
    shipped, document = (checkpoints.read_card(name) for name in ("tlob", live_model.DOCUMENT))
    assert document["config"]["pooling"] == "mean" and document["config"]["qkv"] == "double" and document["transform"] == "raw"
    table = live_model._test_table(shipped, choices("smoothed"))
    shown = {
        (row["Market"], row["Horizon"]): float(row["Macro-F1"])
        for row in table.to_dict("records")
        if row["Rule"] == "TLOB, the document's form"
    }
    told = {
        (market, one["horizon"]): one["macro_f1"]
        for market, results in document["metrics"]["test"].items()
        for one in results
        if one["label"] == "smoothed"
    }
    assert shown == pytest.approx(told, abs=0.0006)  # three digits are shown
    assert len(shown) == 12


def test_the_documents_form_does_not_stand_beside_itself() -> None:
    table = live_model._test_table(checkpoints.read_card(live_model.DOCUMENT), choices("forward"))
    assert "TLOB, the document's form" not in set(table["Rule"])
