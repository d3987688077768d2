"""What the front page shows is what the shipped models say now, and what their cards hold."""

import io
import re
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from PIL import Image

from core import checkpoints, front
from core.lecture.attention_steps import scaled_scores
from core.lecture.tokens import embed, random_numbers
from core.market.book import STEP_MS
from core.market.hub import shutdown
from core.market.predictor import load_predictor
from core.market.store.index import find_recording
from core.market.store.rows import read_market
from core.signs.hands.model_files import HAND_FILES
from core.signs.samples import clip_samples
from core.vision import opening
from core.vision.analysis import analyse
from core.vision.classifier import PHOTOGRAPHS, load_classifier
from core.vision.gallery import photograph_gallery
from core.vision.preprocessing import Recipe
from core.vision.sight_files import SIGHT_FILES
from core.vision.uprightness import prepare_upright
from pages.markets.live_controls import OPENS_WITH
from pages.shared import controls
from pages.shared.navigation import OF_THE_LIVE_PAGE, ROOT
from scripts import front_page
from tests.pages.open_page import open_page, words


def test_the_market_is_what_the_model_calls_and_what_came() -> None:
    """The outcomes by D8's own words, a row at a time; the whole by the command that wrote the file."""
    shown = front.answers()["market"]
    assert shown["recording"] == OPENS_WITH and shown["horizon"] == front.HEAD[1] and shown["step_ms"] == STEP_MS
    predictor, of = load_predictor(), find_recording(OPENS_WITH)
    rows = read_market(of.paths)
    first, head = predictor.window - 1, predictor.head("forward", front.HEAD[1])
    alpha = predictor.market(of.market).alphas[head]
    for at in (0, 100, 429):
        now = rows.mid[first + at]
        move = rows.mid[first + at + 1 : first + at + 1 + front.HEAD[1]].mean() / now - 1
        assert shown["mids"][at] == pytest.approx(now, abs=1e-3)
        assert shown["truths"][at] == (2 if move > alpha else 0 if move < -alpha else 1)
    assert set(shown["truths"][-front.HEAD[1] :]) == {-1}, "what came after the last row shown is not known yet"
    now = front_page.market()
    for name in ("truths", "mids", "momentum"):
        assert now[name] == shown[name], "run `python -m scripts.front_page`"
    assert np.mean(np.array(now["calls"]) != shown["calls"]) < 0.01, "run `python -m scripts.front_page`"


@pytest.mark.skipif(not SIGHT_FILES.available(), reason="needs `make sight`")
def test_the_photograph_has_the_models_answer_and_the_share_that_stands_out() -> None:
    shown, now = front.answers()["photograph"], front_page.photograph()
    for name in ("photo", "labelled", "garment", "made_by"):
        assert now[name] == shown[name], "run `python -m scripts.front_page`"
    assert now["losses"] == pytest.approx(shown["losses"], abs=1e-4), "run `python -m scripts.front_page`"
    ((name, probability),) = shown["named"]
    assert now["named"][0] == [name, pytest.approx(probability, abs=0.01)] and name == shown["labelled"]
    assert now["stands_out"] == pytest.approx(shown["stands_out"], abs=0.01)
    assert shown["labelled"] == photograph_gallery()[shown["photo"]].name


@pytest.mark.skipif(not SIGHT_FILES.available(), reason="needs `make sight`")
def test_garments_opens_as_if_all_were_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The photograph as the finder and the turns leave it; of any other checkpoint nothing is taken from the file."""
    classifier, picture = load_classifier(PHOTOGRAPHS), opening.photograph()
    recipe = Recipe(manner=classifier.manner)
    computed, opened = prepare_upright(classifier, picture, recipe), opening.prepare(classifier, picture, recipe)
    for name, value in vars(computed).items():
        np.testing.assert_array_equal(getattr(opened, name), value, err_msg=name)
    analysis = analyse(classifier, opened.image)
    with monkeypatch.context() as patched:
        patched.setattr(opening, "losses_without", None)
        kept = opening.losses(analysis, analysis.likeliest)
    np.testing.assert_allclose(kept, front.answers()["photograph"]["losses"])
    monkeypatch.setattr(classifier, "fingerprint", "another")
    monkeypatch.setattr(opening, "losses_without", lambda *_args, **_more: "computed")
    assert opening.losses(analysis, analysis.likeliest) == "computed"


def test_the_signs_are_read_from_the_hands_that_are_drawn() -> None:
    shown = front.answers()["signs"]
    clip = next(one for one in clip_samples() if one.name == shown["clip"])
    assert shown["signed"] == list(clip.glosses)
    assert [frame["gloss"] for frame in shown["frames"]] == shown["read"]
    for frame in shown["frames"]:
        points = np.array(frame["hands"])
        assert points.shape[1:] == (21, 2) and 0 < points.min() < points.max() < 1
        assert Image.open(io.BytesIO(b64decode(frame["picture"]))).size == (240, 240)
    if not HAND_FILES.available():
        pytest.skip("the hand finder is not there (make hands)")
    now = front_page.signs()
    assert now["read"] == shown["read"], "run `python -m scripts.front_page`"
    for one, other in zip(now["frames"], shown["frames"], strict=True):
        np.testing.assert_allclose(one["hands"], other["hands"], atol=0.02)


def test_the_heat_map_is_the_lessons_softmax() -> None:
    for shown in front.answers()["lecture"].values():
        words, width = shown["words"], front_page.WIDTH
        x = embed(words, width)
        q, k = (x @ random_numbers(f"{name} 0 {width}", (width, width), std=width**-0.5) for name in ("W_Q", "W_K"))
        for temperature, weights in zip(shown["temperatures"], shown["weights"], strict=True):
            powers = np.exp(scaled_scores(q, k) / temperature)
            np.testing.assert_allclose(weights, 100 * powers / powers.sum(axis=1, keepdims=True), atol=0.06)


def test_the_scores_are_the_cards() -> None:
    cards = {name: checkpoints.read_card(name, folder=checkpoints.FOLDER)["metrics"] for name in ("tlob", "cct", "iiga_asl")}
    by_market = {
        market: next(row for row in rows if row["label"] == "forward" and row["horizon"] == 50)
        for market, rows in cards["tlob"]["test"].items()
    }
    scores = front.scores()
    assert scores.tlob == pytest.approx(np.mean([row["matthews"] for row in by_market.values()]))
    assert scores.momentum == pytest.approx(np.mean([row["baselines"]["momentum"]["matthews"] for row in by_market.values()]))
    assert scores.photographs == cards["cct"]["photographs"]["accuracy"]
    assert scores.word_errors == cards["iiga_asl"]["test"]["wer"]
    assert (scores.photographs_count, scores.sentences) == (341, 40)


def test_the_strongest_peer_is_the_one_in_the_results() -> None:
    """Each peer's mean over the three markets, read from the tables of docs/results.md."""
    text = (Path(front_page.__file__).resolve().parents[1] / "docs" / "results.md").read_text(encoding="utf-8")
    trees = re.findall(
        r"\| \**[\d.]+\**¹? / [\d.]+ / ([\d.]+) \|[^|]*\|$", text.split("**Matthews correlation, forward")[1], re.M
    )[:3]
    (deep,) = re.findall(r"^\| forward 50 .*/.*$", text, re.M)
    both = [float(value) for value in re.findall(r"[\d.]+ / ([\d.]+) \|", deep)]
    assert len(trees) == len(both) == 3
    assert pytest.approx(np.mean([float(one) for one in trees]), abs=5e-4) == front.TREES
    assert max(front.TREES, front.scores().momentum) >= np.mean(both)


def test_every_number_of_the_front_page_stands_where_its_link_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page behind each link is opened with the link's parameters, and its boxes with it."""
    links: list[tuple[str, str, dict[str, str]]] = []

    def noted(page: str, *, label: str = "", query_params: dict[str, str] | None = None, **_told: object) -> None:
        links.append((page, label, query_params or {}))

    monkeypatch.setattr(st, "page_link", noted)  # a page that runs alone knows of no other one
    monkeypatch.setattr(controls, "opened", lambda label, **_told: st.container())
    open_page(ROOT / "pages" / "home.py")
    scores = [
        (page, re.findall(r"(?<![\w.])\d[\d.]*%?", label), query) for page, label, query in links if re.match(r"\*\*\d", label)
    ]
    assert len(scores) == 4 and scores[0][1] == ["0.15", "12.5", "0.14", "0.08"]
    for page, (value, *others), query in scores:
        app = open_page(ROOT / page, **query)
        shutdown()
        there = " ".join([words(app), *(frame.value.to_string() for frame in app.dataframe)])
        exact = value if "%" not in value else value[:-1] + r"(\.\d+)?%"
        if page.endswith("training.py"):
            exact = r"8[89]\.\d%"
        assert re.search(rf"(?<![\d.]){exact}(?!\d)", there), (page, value)
        assert all(other in there for other in others if page.startswith(("pages/images", "pages/signs"))), (page, others)


@pytest.mark.skipif(not SIGHT_FILES.available(), reason="needs `make sight`")
def test_a_sample_of_the_front_page_is_answered_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the models' own command; links below it lead to the same photograph."""
    links: dict[str, dict[str, str]] = {}
    monkeypatch.setattr(
        st, "page_link", lambda _page, *, label="", query_params=None, **_told: links.update({label: query_params or {}})
    )
    app = open_page(ROOT / "pages" / "home.py")
    assert links["Why?"] == {"photo": str(front_page.PHOTOGRAPH)}
    app.button(key="front_sample_1").click().run()
    assert not app.exception
    monkeypatch.setattr(front_page, "PHOTOGRAPH", 10)
    expected = front_page.photograph()
    answered = next(text for one in app.get("html") if "front-whole" in (text := str(getattr(one, "value", ""))))
    (name, share), *_other = expected["named"]
    assert f"{name} {share:.0%}" in answered and f"{expected['stands_out']:.0%} of the picture stands out" in answered
    assert links["Why?"] == links["What does it see?"] == {"photo": "10"} and links["Fool it"] == {
        "photo": "10",
        "inside": "hide",
    }


def test_links_that_the_live_page_had_at_the_root_are_known_by_their_parameters() -> None:
    """Each is the name of a widget of the page that keeps its value in the URL, or of one that it had."""
    folder = Path(front_page.__file__).resolve().parents[1] / "pages" / "markets"
    names = {name for file in folder.glob("*.py") for name in re.findall(r'"(\w+)"', file.read_text(encoding="utf-8"))}
    of_old_links = {"cutoff", "profile", "contrast", "ticks"}
    assert OF_THE_LIVE_PAGE - names == of_old_links and "colours" in OF_THE_LIVE_PAGE
