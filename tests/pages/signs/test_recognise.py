"""The recognition page by Streamlit's own test runner, with two tiny untrained IIGAs."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.models.iiga import IIGA
from core.signs import evidence as evidences
from core.signs.evidence import explain_frame
from core.signs.hands.model_files import HAND_FILES
from core.signs.own_clips import STORE
from core.signs.recogniser import ASL, DIGITS, HANDS, load_recogniser
from core.signs.samples import clip_samples, track_samples
from core.signs.video import Footage, read_video
from core.vision.pictures import png
from pages.shared.kept_results import forget_all
from pages.shared.navigation import ROOT
from tests.core.signs.tiny import save_tiny
from tests.core.signs.video_files import film, grey, sound
from tests.pages.learn.test_labs import stats
from tests.pages.open_page import open_page, words
from tests.pages.scenes import scene_of

opened = partial(open_page, ROOT / "pages" / "signs" / "recognise.py")


@pytest.fixture(scope="module", autouse=True)
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("checkpoints")
    save_tiny(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "FOLDER", folder)
        forget_all()
        yield folder
    forget_all()


def test_a_bundled_clip_is_read(models):
    app = opened(sview="time")
    sample = clip_samples()[0]
    recogniser = load_recogniser(DIGITS, folder=models)
    footage = read_video(sample.path.read_bytes(), size=32, fps=8)
    expected = recogniser.answer(footage.frames).greedy
    assert "blanks removed: " + (" ".join(f"`{gloss}`" for gloss in expected) or "–") in words(app)
    assert "synthetic sentence of real photos" in words(app)
    assert {"Took", "Parameters"} <= stats(opened(sview="numbers")).keys()


def test_the_film_is_the_stage_with_every_head_and_what_counted_for_each_gloss(models):
    """The message's numbers are the model's own, and the light at rest is that of the gloss that is being read."""
    one = track_samples()[3]
    head, arrays = scene_of(opened(input="tracks", sentence=str(one.video)))
    recogniser = load_recogniser(ASL, folder=models)
    seen = recogniser.answer(one.tracks, np.arange(len(one.tracks)) / 30, speaker=one.speaker)
    assert list(seen.attention) == ["intra 1", "inter 1", "intra 2", "inter 2"]
    titles = [layer["title"] for layer in head["layers"][:4]]
    assert titles == ["Intra-gloss 1", "Inter-gloss 1", "Intra-gloss 2", "Inter-gloss 2"]
    for name, weights in seen.attention.items():
        np.testing.assert_array_equal(arrays[name], weights.astype(np.float16))
    glosses, stage = seen.glosses, head["stage"]
    assert len(glosses) >= 2 and [tuple(said) for said in stage["captions"]] == list(seen.spans)
    assert [measure["name"] for measure in head["measures"]] == [f"gradients {i + 1}" for i in range(len(glosses))]
    for i, gloss in enumerate(glosses):
        asked = explain_frame(recogniser, one.tracks, frame=gloss.peak, label=gloss.label, speaker=one.speaker)
        np.testing.assert_allclose(arrays[f"gradients {i + 1}"], asked.importance["gradients"], atol=1e-6)
        assert stage["rests"][gloss.first] == i
    assert stage["rests"][0] == 0 and stage["seconds"] == seen.seconds.tolist()
    assert head["start"] == glosses[0].peak


def test_a_clip_in_which_nothing_is_read_has_its_attention_on_the_stage(models):
    checkpoint = checkpoints.load(DIGITS, folder=models)
    silent = checkpoints.build_model(
        checkpoint, IIGA
    )  # as it was trained: a recogniser's convolutions have taken over their norms
    with torch.no_grad():
        silent.decoder.bias[0] += 50.0
    checkpoints.save("silent", silent, {**checkpoint.card, "name": "silent"}, folder=models)
    app = opened(model="silent")
    assert "it gets no gloss" in app.info[0].value
    head, _arrays = scene_of(app)
    assert not head["measures"] and not head["stage"]["captions"] and len(head["layers"]) == 5


def test_a_long_clip_is_lit_by_what_takes_one_pass(monkeypatch):
    monkeypatch.setattr(evidences, "MAX_FRAMES", 20)
    app = opened(input="tracks")
    head, _arrays = scene_of(app)
    assert {measure["name"].split(" ")[0] for measure in head["measures"]} == {"relevance"}


def test_samples_and_the_camera_are_a_press(monkeypatch):
    monkeypatch.setattr(HAND_FILES, "available", lambda: False)
    app = opened(input="video")
    app.button(key="signs_sample_1").click().run()
    assert "".join(app.query_params["sample"]) == "digits_314" and "input" not in app.query_params
    app.button(key="signs_sample_2").click().run()
    assert "".join(app.query_params["input"]) == "tracks" and "Real ASL" in words(app)
    app.button(key="signs_camera").click().run()
    assert "".join(app.query_params["input"]) == "camera" and not app.exception


def card_table(app: AppTest) -> pd.DataFrame:
    return next(frame.value for frame in app.dataframe if "Measured on" in frame.value)


def test_scores_say_what_they_were_measured_on():
    table = card_table(opened(sview="numbers"))
    assert "synthetic sentences of real photos" in table["Measured on"].iloc[0]
    assert table["WER"].tolist() == ["5.0%"]
    assert card_table(opened(input="tracks", sview="numbers"))["WER"].tolist() == ["30.0%", "40.0%"]


def test_the_vocabulary_is_listed():
    app = opened()
    assert "It knows 10 glosses" in words(app)
    assert "`0` · `1` · `2`" in words(app)


def test_a_link_to_an_upload_works_while_it_is_kept():
    frames = np.random.default_rng(0).integers(0, 255, (12, 32, 32, 3), dtype=np.uint8)
    key = STORE.keep(("mine.mp4", Footage(frames=frames, fps=8, seconds=np.arange(12) / 8, width=32, height=32)))
    assert stats(opened(input="video", file=key, sview="numbers"))["Frames"] == "12"
    gone = opened(input="video", file="0" * 12)
    assert "gone from memory" in gone.warning[0].value
    nothing = opened(input="video")
    assert "nothing to read yet" in nothing.info[0].value


WEBM = film([grey(90, 64, 48)] * 20, kind="webm")


def uploaded(app: AppTest, name: str = "a.webm", data: bytes = WEBM, kind: str = "video/webm") -> AppTest:
    """The page once a film was given to it; each film has an uploader of its own."""
    next(one for one in app.file_uploader if str(one.key).startswith("signs:film")).upload(name, data, kind).run()
    assert not app.exception
    return app


def test_an_uploaded_film_is_read(models):
    app = uploaded(opened(input="video", fit="pad", sview="numbers"))
    assert stats(app)["Frames"] == "16"
    assert "64 x 48, 10.0 frames a second, vp8; 16 frames from 0.0 to 1.9 s were read." in words(app)
    assert STORE.find("".join(app.query_params["file"])) is not None


@pytest.mark.parametrize(("data", "why"), [(sound(), "holds no picture"), (b"hello" * 99, "not a video that can be read")])
def test_nothing_stays_under_the_error_of_a_failed_upload(data: bytes, why: str) -> None:
    app = uploaded(opened(input="video", sview="numbers"), "good.webm")
    assert stats(app)["Frames"] == "16"
    assert "**good.webm**" in words(app)
    uploaded(app, "bad.mp4", data, "video/mp4")
    assert why in app.error[0].value
    assert "Frames" not in stats(app)
    assert "good.webm" not in " ".join(one.value for one in [*app.markdown, *app.caption])
    assert "file" not in app.query_params
    assert stats(uploaded(app, "again.webm"))["Frames"] == "16"
    assert not app.error


def test_a_start_after_the_end_takes_the_answer_away():
    app = uploaded(opened(input="video", sview="numbers"))
    app.number_input(key="start").set_value(50.0).run()
    assert app.error
    assert "Frames" not in stats(app)


def test_a_picture_is_a_clip_that_holds_it():
    picture = png(np.full((40, 50, 3), 90, np.uint8))
    assert stats(uploaded(opened(input="video", sview="numbers"), "1.png", picture, "image/png"))["Frames"] == "4"


def test_the_lab_takes_a_clips_probabilities():
    app = open_page(ROOT / "pages" / "learn" / "ctc.py", fill="tracks")
    first = track_samples()[0]
    assert stats(app)["Labels U"] == str(len(first.glosses))
    app.text_input(key="signed").set_value("NO-SUCH-GLOSS").run()
    assert "does not know NO-SUCH-GLOSS" in app.error[0].value


def test_the_model_follows_the_source_until_the_reader_chooses_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a bundled clip to a film the model stayed the one of synthetic clips, and the link named it."""
    for digits in (DIGITS, HANDS):
        save_tiny(tmp_path, digits=digits)
    monkeypatch.setattr(checkpoints, "FOLDER", tmp_path)
    monkeypatch.setattr(HAND_FILES, "available", lambda: True)
    app = opened()
    films, hands = "IIGA on pictures", "IIGA on points of the hand"
    for source, best in (("digits", films), ("video", hands), ("digits", films)):
        app.segmented_control(key="input").set_value(source).run()
        assert app.selectbox(key="model").options[0] == f"By the clip: {best}" and "model" not in app.query_params
    app.selectbox(key="model").set_value(DIGITS).run()
    app.segmented_control(key="input").set_value("video").run()
    assert app.selectbox(key="model").value == DIGITS == "".join(app.query_params["model"])


def test_frames_that_are_rubbed_out_are_said_with_what_is_read_without_them(models):
    app = opened(hide_frames="0.1.2")
    recogniser = load_recogniser(DIGITS, folder=models)
    footage = read_video(clip_samples()[0].path.read_bytes(), size=32, fps=8)
    hidden = np.zeros((1, len(footage.frames)), bool)
    hidden[0, :3] = True
    (labels,) = evidences.glosses_without(recogniser, footage.frames)(hidden)
    said = " ".join(recogniser.vocabulary.names[label] for label in labels)
    assert f"Without 3 of {len(footage.frames)} parts it" in words(app) and (f"**{said}**" if said else "nothing") in words(app)
    app.button(key="hide_frames_back").click().run()
    assert "Without 3 of" not in words(app) and "hide_frames" not in app.query_params
