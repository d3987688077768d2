"""The page of what IIGA looks at by Streamlit's own test runner, with tiny untrained IIGAs and one that says nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
import torch
from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.explain.measures import METHODS
from core.signs import gloss_measures, recognition
from core.signs.evidence import evidence
from core.signs.own_clips import STORE
from core.signs.recogniser import ASL, DIGITS, Recogniser, load_recogniser
from core.signs.samples import clip_samples, track_samples
from core.signs.video import Footage, read_video
from pages.shared.kept_results import forget_all
from pages.shared.navigation import ROOT
from tests.core.signs.tiny import save_tiny
from tests.pages.open_page import open_page
from tests.pages.signs.test_labs import text


def opened(page: str = "attention", **query: str) -> AppTest:
    return open_page(ROOT / "pages" / "signs" / f"{page}.py", **query)


@pytest.fixture(scope="module", autouse=True)
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("checkpoints")
    save_tiny(folder)
    silent = load_recogniser(DIGITS, folder=folder)
    with torch.no_grad():
        silent.model.decoder.bias[0] += 50.0
    checkpoints.save("silent", silent.model, {**silent.card, "name": "silent"}, folder=folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "FOLDER", folder)
        st.cache_resource.clear()
        forget_all()
        yield folder
    st.cache_resource.clear()
    forget_all()


def sentence(models: Path) -> tuple[Recogniser, Any, recognition.Recognition, gloss_measures.ClipMeasures]:
    """The fourth bundled sentence as the tiny model reads it."""
    recogniser, one = load_recogniser(ASL, folder=models), track_samples()[3]
    seconds = np.arange(len(one.tracks)) / 30
    found = recogniser.answer(one.tracks, seconds, speaker=one.speaker)
    return recogniser, one, found, gloss_measures.measure_clip(recogniser, found, one.tracks, speaker=one.speaker)


TRACKS = {"input": "tracks", "sentence": str(track_samples()[3].video)}


def test_it_opens_on_the_frames_of_a_bundled_clip_and_maps_are_a_click_away():
    app = opened()
    assert clip_samples()[0].name in text(app) and "is read from" in text(app)
    assert app.segmented_control(key="sview").value == "frames"
    app.segmented_control(key="sview").set_value("maps").run()
    assert "The frame at 0.00 s, read as" in text(app)
    assert "**Entropy**" in text(app)
    assert "Attention weights are not explanations by themselves." in text(app)


@pytest.mark.parametrize(("layer", "head"), [("intra 2", "1"), ("rollout", "mean"), ("rollout", "0")])
def test_every_map_and_head_opens_by_its_link(layer, head):
    app = opened(sview="maps", slayer=layer, shead=head, frame="9", **TRACKS)
    assert app.selectbox(key="slayer").value == layer
    assert "The frame at 0.53 s, read as" in text(app)


def test_the_sentence_names_the_frames_that_count(models):
    recogniser, one, found, whole = sentence(models)
    assert len(whole.glosses) >= 2
    gloss = whole.glosses[1]
    for measure in (*whole.rows, "gradients", "occlusion"):
        if measure in whole.rows:
            row = whole.rows[measure][1]
        else:
            row = evidence(recogniser, one.tracks, frame=gloss.peak, label=gloss.label, speaker=one.speaker).importance[measure]
        told = gloss_measures.strongest_frames(row, gloss)
        shown = text(opened(sview="frames", gloss="2", measure=measure, **TRACKS))
        assert f"`{recogniser.vocabulary.names[gloss.label]}` is read from {found.seconds[gloss.first]:.2f}" in shown
        listed = shown.partition("count most: " if len(told.frames) > 1 else "counts most: ")[2]
        assert listed.startswith(f"{found.seconds[told.frames[0]]:.2f} s ("), measure
        assert ("outside" in shown or "None of" in shown) if not told.inside else ("inside the gloss's own run" in shown)


def test_what_asks_the_model_is_computed_for_the_chosen_gloss_or_for_all(monkeypatch):
    asked = []

    def counting(recogniser: Recogniser, clip: Any, **told: Any) -> Any:
        asked.append(told["frame"])
        return evidence(recogniser, clip, **told)

    st.cache_resource.clear()
    forget_all()
    monkeypatch.setattr("core.signs.evidence.evidence", counting)
    app = opened(sview="frames", measure="occlusion", **TRACKS)
    assert len(asked) == 1
    assert "Computed for the chosen gloss alone" in text(app)
    app.selectbox(key="measure").select("gradients").run()
    assert len(asked) == 1  # one asking gives both
    app.selectbox(key="gloss").select_index(1).run()
    assert not app.exception and len(asked) == len(set(asked)) == 2


def test_another_map_head_or_measure_computes_nothing_anew(monkeypatch):
    app = opened(sview="maps", **TRACKS)
    encoded = []
    monkeypatch.setattr(Recogniser, "encode", lambda *_arguments: encoded.append(1))
    app.selectbox(key="slayer").select("inter 2").run()
    app.selectbox(key="shead").select("1").run()
    app.segmented_control(key="sview").set_value("frames").run()
    for measure in ("intra 1", "rollout", "relevance"):
        app.selectbox(key="measure").select(measure).run()
    app.selectbox(key="gloss").select("2").run()
    assert not app.exception
    assert "".join(app.query_params["gloss"]) == "2"
    assert not encoded


def test_a_clip_in_which_nothing_is_read_is_said_to_be_one():
    app = opened(model="silent", sview="frames")
    assert "No gloss is read in this clip" in app.info[0].value
    app.segmented_control(key="sview").set_value("truth").run()
    assert "No gloss is read in this clip" in app.info[0].value
    app.segmented_control(key="sview").set_value("maps").run()
    assert not app.info
    assert "looks most at" in text(app)


def test_a_long_clip_is_not_asked_about(monkeypatch):
    monkeypatch.setattr(gloss_measures, "MAX_FRAMES", 20)
    app = opened(sview="frames", measure="occlusion", **TRACKS)
    assert "are offered up to 20" in app.warning[0].value
    assert app.selectbox(key="measure").value == "relevance"  # in its place one that takes any length
    assert "By this measure" in text(app)
    truth = opened(sview="truth", **TRACKS)
    assert "are offered up to 20" in truth.warning[0].value
    assert "Area under each curve" not in text(truth)


def test_the_truth_is_that_of_the_chosen_gloss(models):
    app = opened(sview="truth", gloss="2", **TRACKS)
    assert "Area under each curve, the best method first" in text(app)
    assert all(name in text(app) for name in ("Rollout", "Occlusion", "Gradient relevance", "Integrated gradients"))
    assert len(METHODS) == 5


def test_without_a_clip_it_says_what_to_do():
    assert "nothing to read yet" in opened(input="pictures").info[0].value
    assert "gone from memory" in opened(input="video", file="0" * 12).warning[0].value


def test_a_very_short_clip_works():
    frames = np.random.default_rng(0).integers(0, 255, (1, 32, 32, 3), dtype=np.uint8)
    key = STORE.keep(("one.png", Footage(frames=frames, fps=8, seconds=np.zeros(1), width=32, height=32)))
    for view in ("maps", "frames", "truth"):
        app = opened(input="pictures", file=key, sview=view, measure="occlusion")
        assert not app.error


def test_recognise_links_to_it_with_the_clip_that_is_shown(page_links):
    opened("recognise", slayer="inter 1", beams="4", **TRACKS)
    page, told = page_links[-1]
    assert page == "pages/signs/attention.py"
    assert told["query_params"] == {**TRACKS, "slayer": "inter 1"}


def test_frames_are_read_as_on_the_recognition_page(models):
    sample = clip_samples()[1]
    recogniser = load_recogniser(DIGITS, folder=models)
    footage = read_video(sample.path.read_bytes(), size=32, fps=8)
    expected = recogniser.greedy(recogniser.log_probabilities(footage.frames))
    assert f"read as **{' '.join(expected)}**" in text(opened(sample=sample.name))
