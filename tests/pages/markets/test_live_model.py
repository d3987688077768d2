"""The card on the live page: the shipped model's test results stand beside the rules', and beside the document's form (D6)."""

import re

import pytest

from core import checkpoints
from pages.markets import live_model
from pages.shared.navigation import ROOT


def test_the_documents_form_stands_beside_the_shipped_model() -> None:
    shipped, document = (checkpoints.read_card(name) for name in ("tlob", live_model.DOCUMENT))
    assert document["config"]["pooling"] == "mean" and document["config"]["qkv"] == "double" and document["transform"] == "raw"
    table = live_model._test_table(shipped, "smoothed")
    shown = {
        (row["Market"], row["Horizon"]): float(row["Macro-F1"])
        for row in table.to_dict("records")
        if row["Forecaster"] == "TLOB, the document's form"
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
    table = live_model._test_table(checkpoints.read_card(live_model.DOCUMENT), "forward")
    assert "TLOB, the document's form" not in set(table["Forecaster"])


def test_the_card_says_how_calls_are_made() -> None:
    """By one of two rules, chosen on validation; naive rules name none (D25)."""
    card = checkpoints.read_card("tlob")
    for label in ("smoothed", "forward"):
        table = live_model._test_table(card, label)
        by_name = dict(tuple(table.groupby("Forecaster")))
        assert len(by_name["TLOB"]) == 12 and set(by_name["TLOB"]["Calls"]) <= {"likeliest class", "fitted threshold"}
        assert set(by_name["Momentum rule"]["Calls"]) == set(by_name["Always stationary"]["Calls"]) == {""}
    for market, results in card["metrics"]["test"].items():
        assert [one["call"] for one in results] == [
            "threshold" if rule["lean"] else "likeliest" for rule in card["markets"][market]["rules"]
        ]


@pytest.mark.parametrize(
    ("label", "horizon", "score"), [("smoothed", 50, "macro_f1"), ("smoothed", 10, "macro_f1"), ("forward", 50, "matthews")]
)
def test_the_front_rows_are_the_cards(label: str, horizon: int, score: str) -> None:
    tested = checkpoints.read_card("tlob")["metrics"]["test"]
    own = [next(one for one in tested[market] if (one["label"], one["horizon"]) == (label, horizon))[score] for market in tested]
    (row,) = [line for line in (ROOT / "README.md").read_text().splitlines() if f"{label} label, {horizon} steps" in line]
    assert sorted(re.findall(r"\d\.\d{3}", row.split("|")[3])) == sorted(f"{number:.3f}" for number in own)


def test_the_front_row_of_photographs_is_the_cards() -> None:
    scores = checkpoints.read_card("cct")["metrics"]["photographs"]
    right = f"{scores['accuracy']:.1%}".replace("%", " %")
    row = f"| CCT | {scores['samples']} photographs of ten kinds | {right}, calibration error {scores['ece']:.3f} |"
    assert row in (ROOT / "README.md").read_text()


def test_the_tables_of_results_are_the_cards() -> None:
    card, results_document = checkpoints.read_card("tlob"), (ROOT / "docs" / "results.md").read_text()
    tested, peers = card["metrics"]["test"], card["metrics"]["peers"]["lightgbm"]["test"]
    for market, results in tested.items():
        for own, peer in zip(results, peers[market], strict=True):
            score = "macro_f1" if own["label"] == "smoothed" else "matthews"
            numbers = [own[score], own["baselines"]["momentum"][score], peer[score]]
            bold, mark = numbers[0] > max(numbers[1:]), {"likeliest": "¹", "threshold": ""}
            first, second, third = (f"{number:.3f}" for number in numbers)
            cell = f"{f'**{first}**' if bold else first}{mark[own['call']]} / {second} / {third}{mark[peer['call']]}"
            assert cell in results_document, (market, own["label"], own["horizon"])
