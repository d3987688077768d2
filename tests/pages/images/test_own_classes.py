"""The page for classes of one's own, by Streamlit's test runner: from files to an answer, a saved head, and bad files."""

from __future__ import annotations

import base64
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.datastructures import QueryParams
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.testing.v1 import AppTest

from core.vision import own_classes
from core.vision.classifier import Classifier, load_classifier
from core.vision.own_classes import as_read, read_own_classes
from core.vision.pictures import Bytes, Picture, decode, png
from pages.images import live_camera
from pages.shared.navigation import ROOT
from tests.pages.open_page import open_page, words

opened = partial(open_page, ROOT / "pages" / "images" / "own_classes.py")


def striped(count: int, *, upright: bool) -> list[tuple[str, bytes, str]]:
    random = np.random.default_rng(int(upright))
    stripes = np.where(np.arange(56) // 7 % 2, 230, 20) * np.ones((56, 1))
    made = []
    for row in range(count):
        levels = (stripes if upright else stripes.T) + random.normal(0, 12, (56, 56))
        made.append((f"{upright}{row}.png", png(levels.clip(0, 255).astype(np.uint8)), "image/png"))
    return made


def taught() -> AppTest:
    app = opened()
    assert app.button(key="own_teach").disabled and "5 pictures or more" in words(app)
    app.text_input(key="own_names").set_value("upright, level").run()
    app.file_uploader(key="own:files:0").set_value(striped(6, upright=True)).run()
    app.file_uploader(key="own:files:1").set_value(striped(6, upright=False)).run()
    app.button(key="own_teach").click().run()
    assert not app.exception
    return app


def test_a_press_while_files_are_read_loses_none_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stops the run at its next look at the session, and the next run goes on where that one was."""
    app = opened()
    app.text_input(key="own_names").set_value("upright, level").run()
    read = list[int]()

    def pressed_at_the_third(classifier: Classifier, picture: Picture) -> Bytes:
        read.append(len(read))
        context = get_script_run_ctx()
        if len(read) == 3 and context is not None and context.script_requests is not None:
            context.script_requests.request_stop()
        return as_read(classifier, picture)

    monkeypatch.setattr(own_classes, "as_read", pressed_at_the_third)
    app.file_uploader(key="own:files:0").set_value(striped(6, upright=True)).run()
    app.run()
    assert len(read) == len(app.session_state["own:pictures:0"]) == 6


def test_from_files_to_an_answer_and_a_file_to_keep() -> None:
    app = taught()
    assert "of the 12 pictures" in words(app) and "guessing would give 50.0%" in words(app)
    head = app.session_state["own:head"]
    assert head.held_out >= 0.75  # the stripes are plain to see
    app.file_uploader(key="own:ask:0").set_value(striped(8, upright=False)[-1]).run()
    assert not app.exception and any(one.value.startswith("level ") for one in app.header)
    app.button(key="own_sample_1").click().run()  # after the file: shoes, which no stripes are like
    assert "Unlike anything you taught me" in [one.value for one in app.header]
    assert read_own_classes(head.to_npz()).names == ("upright", "level")
    again = opened()
    again.file_uploader(key="own:saved").set_value(("own.npz", head.to_npz(), "application/octet-stream")).run()
    assert not again.exception and "of the 12 pictures" in words(again)


def test_it_opens_on_two_classes_taught_with_bundled_photographs() -> None:
    app = opened()
    assert "of the 20 pictures" in words(app) and any(one.value.startswith("below the waist ") for one in app.header)
    assert "own:head" not in app.session_state, "nobody's own classes"
    app.button(key="own_sample_1").click().run()
    assert "Unlike anything you taught me" in [one.value for one in app.header], "shoes are worn at neither place"


def test_the_pictures_of_a_class_are_taken_out_together() -> None:
    app = taught()
    app.button(key="own_empty_0").click().run()
    assert not app.exception and app.session_state["own:pictures:0"] == [] and len(app.session_state["own:pictures:1"]) == 6
    assert app.button(key="own_teach").disabled


def test_bad_files_get_a_sentence_and_leave_nothing_stale() -> None:
    app = taught()
    app.file_uploader(key="own:saved").set_value(("own.npz", b"nothing", "application/octet-stream")).run()
    assert "no classes taught here" in words(app) and "of the 12 pictures" not in words(app)
    app.file_uploader(key="own:files:0").set_value([("a.png", b"x", "image/png")]).run()
    assert "not a picture that can be read" in words(app) and len(app.session_state["own:pictures:0"]) == 6


def test_shots_of_both_classes_teach_them_without_a_press(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[tuple[int, list[bytes]]] = [(row, [data for _name, data, _kind in striped(6, upright=row == 0)]) for row in (0, 1)]
    heads: list[object] = []

    def camera(*, head: object, **_told: object) -> tuple[None, tuple[int, list[bytes]] | None]:
        heads.append(head)
        return None, held.pop(0) if held else None

    monkeypatch.setattr(live_camera, "garment_camera", camera)
    app = opened()
    app.text_input(key="own_names").set_value("upright, level").run()
    app.button(key="own_film").click().run()
    assert "own:head" not in app.session_state, "one class is not enough"
    app.run()
    assert not app.exception and app.session_state["own:head"].counts == (6, 6)
    assert heads[-1] is app.session_state["own:head"], "the camera answers in them at once"


def test_shots_of_a_held_button_join_their_class_and_nonsense_does_not() -> None:
    shot = "data:image/jpeg;base64," + base64.b64encode(b"picture").decode()
    assert live_camera.shots_of({"row": 1, "shots": [shot, 3, "data:image/jpeg;base64,%"]}, 2) == (1, [b"picture"])
    for sent in (None, [], {"row": 2, "shots": [shot]}, {"row": "1", "shots": [shot]}, {"row": 0, "shots": []}, {"row": 0}):
        assert live_camera.shots_of(sent, 2) is None


def test_the_camera_answers_a_wish_in_own_classes_and_refuses_nonsense() -> None:
    head = taught().session_state["own:head"]
    reader = live_camera.GarmentReader(QueryParams())
    frame = np.zeros((48, 64, 3), np.uint8)
    assert len(reader.read(frame)["probabilities"]) == 10
    reader.wish({"head": base64.b64encode(head.to_npz()).decode()})
    answer = reader.read(frame)
    assert len(answer["probabilities"]) == 2 and answer["relevance"] is None
    for wrong in ("%%", base64.b64encode(b"nothing").decode(), 3):
        with pytest.raises(ValueError, match="no classes taught here"):
            reader.wish({"head": wrong})
    reader.wish({"head": None})
    assert len(reader.read(frame)["probabilities"]) == 10


def test_the_notebook_answers_as_the_page_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = taught().session_state["own:head"]
    name, data, _kind = striped(8, upright=False)[-1]
    (tmp_path / "photo.jpg").write_bytes(data)
    monkeypatch.chdir(tmp_path)
    told: dict[str, Any] = {}
    exec(head.to_code("cct"), told)
    classifier = load_classifier("cct")
    np.testing.assert_allclose(told["probabilities"], head.answer(classifier, as_read(classifier, decode(data, name=name)))[0])
