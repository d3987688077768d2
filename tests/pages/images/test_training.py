"""The pages of the training run and of training here, by Streamlit's own test runner."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.models.vit import CLASSES
from core.runs import data_folders
from core.runs.local_run import RunStatus
from core.runs.local_training import Plan
from core.service.access import Role
from core.service.runs import PICTURES
from core.vision.idx import read_part
from core.vision.photographs import KINDS
from pages.shared.language import catalogue
from pages.shared.navigation import ROOT
from tests.core.vision.tiny_vit import FOLDER
from tests.pages.open_page import open_page, press_anyway, ran, words

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
    assert all(catalogue("es").gettext(name) != name for name in (*CLASSES, *KINDS.values()))


def test_the_shipped_run_is_shown_with_its_cards_numbers() -> None:
    card = checkpoints.read_card("vit")
    text = words(opened("training.py"))
    assert f"{100 * card['metrics']['validation']['accuracy']:.2f}%" in text
    assert "89.58%" in text  # the report's
    assert card["command"] in text


def test_without_a_checkpoint_the_page_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "FOLDER", tmp_path)
    assert "no garment model" in words(opened("training.py"))


class Stub:
    """A trainer that stands as it is told to."""

    def __init__(self) -> None:
        self.now = RunStatus()
        self.done: list[Any] = []

    def status(self) -> RunStatus:
        return self.now

    def start(self, plan: Plan) -> None:
        self.done.append(plan)
        self.now = RunStatus(phase="starting", plan=plan, message="reading")

    def stop(self) -> None:
        self.done.append("stop")
        self.now = RunStatus(phase="finished", step=5, total=10, epoch=1, epochs=2, history=ROWS)

    work = FOLDER

    def card(self) -> dict[str, Any] | None:
        return checkpoints.read_card("vit", folder=FOLDER) if self.now.phase == "finished" else None

    def packed(self) -> bytes:
        return b"files"


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    made = Stub()
    monkeypatch.setattr(PICTURES, "run", made)
    return made


def button(app: AppTest, key: str) -> Any:
    return next(one for one in app.button if one.key == key)


def test_a_run_from_start_to_keeping(stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(data_folders.SETTING, str(tmp_path))
    app = opened("train_here.py", epochs="7", width="64", images="2000")
    assert "26 MB will be downloaded" in words(app)
    button(app, "train_start").click()
    ran(app)
    (plan,) = stub.done
    assert (plan.data, plan.epochs, plan.width, plan.images) == (tmp_path, 7, 64, 2000)
    assert "reading" in words(app)
    assert button(app, "train_start").disabled
    stub.now = RunStatus(
        phase="training", plan=plan, step=30, total=120, epoch=1, epochs=4, elapsed_s=60.0, loss=0.987, history=ROWS
    )
    text = words(ran(app))
    assert "Try it" not in text
    assert "0.987" in text
    assert "80.00%" in text  # the best epoch's validation accuracy
    button(app, "train_stop").click()
    ran(app)
    assert stub.done[-1] == "stop"
    stub.now = replace(stub.now, plan=plan)
    app = opened("train_here.py")
    assert "Try it on your photo" in words(app) and "Yours" in words(app)
    stub.now = replace(stub.now, plan=plan.started_by("another"))
    assert "Try it on your photo" not in words(opened("train_here.py")), "the owner alone"


def test_it_opens_on_the_run_made_beforehand_with_the_settings_that_one_click_takes(stub: Stub) -> None:
    """The same settings, by the command; 80 % within three minutes of two cores are 360 seconds of one."""
    made = json.loads((ROOT / "assets" / "experiments" / "train_here.json").read_text())
    text = words(opened("train_here.py"))
    best = made["history"][-1]["validation_accuracy"]
    assert f"{100 * best:.1f}%" in text and best >= 0.8 and made["seconds"] <= 360
    asked = Plan(data=data_folders.BUNDLED).arguments(Path("here"))
    assert made["command"].split()[3:] == [Path(word).name if "/" in word else word for word in asked]


def test_a_visitor_may_only_train_from_the_folders_that_are_set(
    stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link's folder is left out, and the page says what would allow it."""
    monkeypatch.delenv(data_folders.SETTING, raising=False)
    app = opened("train_here.py", data=str(tmp_path), folder="1")
    assert not app.text_input and "fashion-mnist" in words(app) and data_folders.SETTING in words(app)
    button(app, "train_start").click()
    ran(app)
    assert [plan.data for plan in stub.done] == [data_folders.DEFAULT]
    monkeypatch.setenv(data_folders.SETTING, os.pathsep.join(str(tmp_path / name) for name in ("first", "second")))
    app = opened("train_here.py")
    assert app.selectbox(key="folder").options == ["first", "second"]


def test_it_starts_at_one_click_on_the_bundled_images(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(data_folders.SETTING, raising=False)
    app = opened("train_here.py")
    assert "4,000" in words(app) and "downloaded" not in words(app)
    button(app, "train_start").click()
    ran(app)
    (plan,) = stub.done
    assert plan.data == data_folders.BUNDLED and not plan.needs_download
    part = read_part(plan.data, "train")
    assert np.bincount(part.labels).tolist() == [data_folders.BUNDLED_IMAGES // 10] * 10


@pytest.mark.parametrize("parameter", ["epochs", "layers", "few", "width", "patch", "rate"])
@pytest.mark.parametrize("value", ["9" * 4_400, "inf", "nan", "-1", "x"])
def test_nonsense_in_the_link_opens_with_the_defaults(stub: Stub, parameter: str, value: str) -> None:
    app = opened("train_here.py", **{parameter: value})
    button(app, "train_start").click()
    ran(app)
    (plan,) = stub.done
    if parameter == "few":  # the bundled images: no more than there are
        assert plan.images == data_folders.BUNDLED_IMAGES
    else:
        assert getattr(plan, parameter) == getattr(Plan(data=plan.data), parameter)


def test_a_card_that_tells_of_no_training_gets_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = checkpoints.read_card("vit") | {"history": [[1, 2]]}
    (tmp_path / "vit.json").write_text(json.dumps(card))
    monkeypatch.setattr(checkpoints, "FOLDER", tmp_path)
    app = opened("training.py")
    assert len(app.error) == 1 and "does not describe" in app.error[0].value and not app.header


def test_a_failure_is_told_in_a_sentence(stub: Stub) -> None:
    stub.now = RunStatus(phase="failed", message="train-images is damaged")
    assert "ended with an error: train-images is damaged" in words(opened("train_here.py"))


def test_the_run_of_the_model_that_answers_photographs_can_be_chosen() -> None:
    card = checkpoints.read_card("cct")
    text = words(opened("training.py", run="cct"))
    assert f"{100 * card['metrics']['photographs']['accuracy']:.1f}%" in text and card["command"] in text


@pytest.mark.parametrize("role", [Role.STRANGER])
@pytest.mark.parametrize(
    "now",
    [
        RunStatus(),
        RunStatus(phase="training", step=30, total=120, epoch=1, epochs=4, elapsed_s=60.0, loss=0.987, history=ROWS),
        RunStatus(phase="finished", step=10, total=10, epoch=2, epochs=2, history=ROWS),
    ],
    ids=lambda now: now.phase,
)
def test_a_stranger_sees_the_run_and_neither_starts_nor_stops_nor_keeps_it(stub: Stub, now: RunStatus) -> None:
    stub.now = now
    app = opened("train_here.py")
    assert "Closed here: starting, ending, resuming and keeping a training." in words(app)
    assert {one.key for one in app.button} & {"train_stop"} == set() and "Try it" not in words(app)
    press_anyway(app, "train_start")
    assert stub.done == []
