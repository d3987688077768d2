"""Score a recording on its page; the command runs in this process."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import streamlit as st
from sklearn.metrics import matthews_corrcoef

from core import checkpoints
from core.cli import main
from core.market.hub import shutdown
from core.market.predictor import load_predictor
from core.market.store import places
from core.market.windows import STORE
from core.runs.scoring import RunError, ScorePlan, Scorer
from core.service.access import Role
from core.service.runs import SCORING
from pages.shared.navigation import ROOT
from tests.core.market.helpers import HEADS, frame_from_rows, random_book, save_tiny
from tests.core.market.journals import recorded
from tests.pages.open_page import open_page, press_anyway, ran, words

MARKETS = ROOT / "pages" / "markets"
NAME = "venue_abc_2024-01-01"
opened_score = partial(open_page, MARKETS / "score.py")


class Ended:
    """In place of a process, one that has ended."""

    stdin = None

    def poll(self) -> int:
        return 0


def run_here(run: Any, work: Path, plan: Any) -> None:
    """In place of `Scorer.start`: the same command, in this process, to its end."""
    plan.check()
    work.mkdir(parents=True, exist_ok=True)
    run._work, run._plan, run._process = work, plan, Ended()
    if main(plan.arguments(work)):
        raise RunError("the command failed")


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Tiny checkpoints in the place of the shipped ones, a library with one recording, and a run in this process."""
    folder = tmp_path_factory.mktemp("place")
    save_tiny(folder / "checkpoints", random_book(400, 5), name="tlob")
    (folder / "library").mkdir()
    frame_from_rows(random_book(1_600, 1)).to_parquet(folder / "library" / f"{NAME}.parquet")
    scorer = Scorer()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "FOLDER", folder / "checkpoints")
        patch.setenv(places.FOLDER_VARIABLE, str(folder / "library"))
        patch.setattr(scorer, "start", partial(run_here, scorer, folder / "scores"))
        patch.setattr(st, "page_link", lambda *a, **k: None)  # a page alone has no navigation to link into
        patch.setattr(SCORING, "run", scorer)
        yield folder
    shutdown()


def test_a_recording_is_scored_and_its_worst_window_opens() -> None:
    app = opened_score()
    assert "Choose one or more recordings to score." in words(app)
    app = opened_score(recs=NAME, h=str(HEADS[1][1]), by="volatility", measure="accuracy")
    app.button(key="score_start").click()
    ran(app)
    assert not app.error, app.error[0].value
    board = app.dataframe[0].value
    assert list(board["Forecaster"]) == [
        "tlob",
        "Momentum rule",
        "Always stationary",
        "A third each",
        "Frequencies so far",
        "Frequencies lately",
    ]
    assert board["Samples"].nunique() == 1 and board["Log loss"].iloc[0] != "" and board["Log loss"].iloc[2] == ""
    assert board["Log loss"].iloc[3].startswith("1.099")
    answer = SCORING.run.answer()
    assert answer is not None
    groups, pairs, worst = (one.value for one in app.dataframe[1:4])
    assert groups.index.tolist() == ["low", "middle", "high"]
    for one in answer["groups"]:
        if one["by"] == "volatility" and one["forecaster"] == "tlob":
            assert groups.loc[one["group"], ["Samples", "tlob"]].tolist() == [one["samples"], round(one["accuracy"], 3)]
    assert pairs["Forecaster"].tolist() == ["Momentum rule", "A third each", "Frequencies so far", "Frequencies lately"]
    (uniform,) = (one for one in answer["pairs"] if one["second"] == "uniform")
    assert pairs["Log loss"][1].startswith(f"{uniform['log_loss_value']:+.4f} [") and pairs["Log loss"][0] == ""
    better = "no clear difference" if uniform["log_loss_low"] <= 0 <= uniform["log_loss_high"] else "is better"
    assert better in pairs["Log loss"][1]
    assert len(worst) == len(answer["worst"]) > 10 and "Where tlob was most wrong" in words(app)
    assert ("saying a third each would have been better" in words(app)) == (answer["log_loss"] > math.log(3))

    from core.market.answers.recordings import cut_window

    plan, line = SCORING.run.status().plan, answer["worst"][0]
    window = cut_window(plan.places, line["recording"], line["timestamp"], 24, predictor="tlob")
    assert window.timestamps[-1] == line["timestamp"] and len(window) == 24
    explorer = open_page(MARKETS / "attention.py", window="frozen", frozen=STORE.keep(window))
    assert f"mid {(window.levels[-1, 0] + window.levels[-1, 2]) / 2:,.2f}: in 10 steps" in words(explorer) and not explorer.error


def test_a_recording_with_a_journal_says_what_came_of_making_it_again(place: Path) -> None:
    predictor = load_predictor("tlob", folder=place / "checkpoints")
    (file,) = recorded(place / "library", random_book(300, 6), predictor)
    day = file.parents[1].relative_to(place / "library").as_posix()
    app = opened_score(recs=day, h=str(HEADS[1][1]))
    app.button(key="score_start").click()
    ran(app)
    assert not app.error, app.error[0].value
    assert f"{day}: 1,108 of 1,108 made again, equal; 0 late; 45 without an outcome" in words(app).replace("\\", "")
    assert "It certifies nothing about whoever keeps the journal" in words(app)
    calls = file.with_name(file.name.replace("rows_", "calls_"))
    frame = pd.read_parquet(calls)
    frame.loc[500, "raw_up"] += 0.01
    frame.to_parquet(calls)
    app.button(key="score_start").click()
    ran(app)
    assert "1,107 of 1,108 made again" in words(app) and "made again from the rows, its probabilities differ." in words(app)


@pytest.mark.parametrize("role", [Role.STRANGER])
def test_a_press_of_a_button_that_is_greyed_out_starts_nothing_for_a_stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser greys a button out; what a client sends is its own affair."""
    began: list[object] = []
    monkeypatch.setattr(SCORING.run, "start", lambda *given, **options: began.append(given))
    app = opened_score(recs=NAME)
    assert "Closed here: scoring recordings, and ending that." in words(app)
    press_anyway(app, "score_start")
    assert not began and "score_stop" not in {one.key for one in app.button}


def test_before_any_run_the_page_opens_on_a_bundled_recording_scored_by_the_shipped_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The score again from its rows, by another library."""
    monkeypatch.setattr(checkpoints, "FOLDER", ROOT / "assets" / "checkpoints")
    monkeypatch.setattr(SCORING, "run", Scorer())
    answer = Scorer().answer()
    assert answer is not None
    rows = Scorer().table("rows")
    assert answer["matthews"] == pytest.approx(matthews_corrcoef(rows["truth"], rows["tlob_call"]), abs=1e-4)
    app = opened_score()
    assert "scored beforehand" in words(app) and "Choose one or more recordings to score." in words(app)
    board = app.dataframe[0].value
    assert board["Forecaster"].iloc[0] == "tlob" and board["Matthews"].iloc[0].startswith(f"{answer['matthews']:.3f}")


def test_a_scoring_that_another_visitor_starts_while_a_page_is_drawn_is_no_error_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = Scorer(command=(sys.executable, "-c", "import time; time.sleep(60)"))
    table = scorer.table

    def started_meanwhile(name: str) -> Any:
        if not scorer.status().running:
            scorer.start(ScorePlan(places=("another",), models=("tlob",)))
        return table(name)

    monkeypatch.setattr(checkpoints, "FOLDER", ROOT / "assets" / "checkpoints")
    monkeypatch.setattr(scorer, "table", started_meanwhile)
    monkeypatch.setattr(SCORING, "run", scorer)
    try:
        assert not opened_score().dataframe and scorer.status().running
    finally:
        scorer.close()
