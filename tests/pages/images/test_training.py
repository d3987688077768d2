"""The pages of the training run and of training here, by Streamlit's own test runner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.models.vit import CLASSES
from core.runs import local_training
from core.runs.local_training import Plan, Standing
from pages.images import class_names
from pages.shared.navigation import ROOT
from tests.pages.open_page import open_page, ran, words

ROWS = [
    {
        "epoch": epoch,
        "rate": 1e-3,
        "seconds": 3.0,
        "score": 0.7 + epoch / 10,
        "loss": 1.0,
        "train_accuracy": 0.8,
        "validation_accuracy": 0.7 + epoch / 10,
        "train_loss": 0.8,
        "validation_loss": 0.9,
    }
    for epoch in range(2)
]


def opened(page: str, **query: str) -> AppTest:
    return open_page(ROOT / "pages" / "images" / page, **query)


def test_every_class_can_be_named_in_the_readers_language() -> None:
    assert class_names.NAMES == CLASSES


def test_the_shipped_run_is_shown_with_its_cards_numbers() -> None:
    card = checkpoints.read_card("vit")
    text = words(opened("training.py"))
    assert f"{100 * card['metrics']['validation']['accuracy']:.2f}%" in text
    assert "89.58%" in text  # the report's
    assert card["command"] in text


def test_without_a_checkpoint_the_page_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.checkpoints.names", lambda *_: [])
    assert "no trained ViT" in words(opened("training.py"))


class Stub:
    """A trainer that stands as it is told to."""

    def __init__(self) -> None:
        self.now = Standing()
        self.done: list[Any] = []

    def standing(self) -> Standing:
        return self.now

    def start(self, plan: Plan) -> None:
        self.done.append(plan)
        self.now = Standing(phase="starting", plan=plan, said="reading")

    def stop(self) -> None:
        self.done.append("stop")
        self.now = Standing(phase="finished", step=5, total=10, epoch=1, epochs=2, history=ROWS)

    def card(self) -> dict[str, Any] | None:
        return {"command": "python -m core train vit", "parameters": 1234} if self.now.phase == "finished" else None

    def keep(self, name: str) -> Path:
        if name == "taken":
            raise local_training.TrainError("there is a checkpoint named 'taken' already: choose another name")
        self.done.append(name)
        return Path(name + ".json")


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    made = Stub()
    monkeypatch.setattr(local_training, "trainer", lambda: made)
    return made


def button(app: AppTest, key: str) -> Any:
    return next(one for one in app.button if one.key == key)


def test_a_run_from_start_to_keeping(stub: Stub, tmp_path: Path) -> None:
    app = opened("train_here.py")
    assert "Name a folder" in words(app)
    assert button(app, "train_start").disabled
    app = opened("train_here.py", data=str(tmp_path), epochs="7", width="64", images="2000")
    assert "26 MB will be downloaded" in words(app)
    button(app, "train_start").click()
    ran(app)
    (plan,) = stub.done
    assert (plan.data, plan.epochs, plan.width, plan.images) == (tmp_path, 7, 64, 2000)
    assert "reading" in words(app)
    assert button(app, "train_start").disabled
    stub.now = Standing(
        phase="training", plan=plan, step=30, total=120, epoch=1, epochs=4, elapsed_s=60.0, loss=0.987, history=ROWS
    )
    text = words(ran(app))
    assert "0.987" in text
    assert "80.00%" in text  # the best epoch's validation accuracy
    button(app, "train_stop").click()
    ran(app)
    assert stub.done[-1] == "stop"
    app.text_input(key="keep_name").set_value("taken")
    button(app, "train_keep").click()
    assert "already" in words(ran(app))
    app.text_input(key="keep_name").set_value("mine")
    button(app, "train_keep").click()
    assert "Kept as mine" in words(ran(app))
    assert stub.done[-1] == "mine"


def test_a_failure_is_told_in_a_sentence(stub: Stub) -> None:
    stub.now = Standing(phase="failed", said="train-images is damaged")
    assert "ended with an error: train-images is damaged" in words(opened("train_here.py"))
