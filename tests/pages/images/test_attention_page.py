"""The ViT's explorer by Streamlit's own test runner: what it shows is the model's, and a link opens it again."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from core import checkpoints
from core.explain import summaries
from core.models.vit import CLASSES
from core.vision import fooling
from core.vision.analysis import PictureAnalysis, analyse
from core.vision.classifier import Answers, Classifier, load_classifier
from core.vision.gallery import gallery
from core.vision.pictures import STORE, from_pixels
from core.vision.preprocessing import Recipe, prepare
from pages.images import cached_results
from pages.shared.navigation import ROOT
from tests.pages.open_page import open_page, ran, words

PAGE = ROOT / "pages" / "images" / "attention.py"
IMAGES = gallery()[0]


opened = partial(open_page, PAGE)


def painted(item: int, *patches: int) -> np.ndarray:
    """A test image whose patches of these numbers are grey 0."""
    image = IMAGES[item].copy()
    for patch in patches:
        row, column = divmod(patch - 1, 7)
        image[4 * row : 4 * row + 4, 4 * column : 4 * column + 4] = 0
    return image


@pytest.fixture
def classifier(models: Path) -> Classifier:
    return load_classifier(folder=models)


def reading(classifier: Classifier, item: int) -> PictureAnalysis:
    return analyse(classifier, IMAGES[item].copy())


# -- opening ------------------------------------------------------------------------------------------------------------------


def test_without_a_checkpoint_it_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(checkpoints, "FOLDER", tmp_path)
    app = opened()
    assert "no garment model here yet" in words(app) and not app.selectbox


def test_it_opens_over_the_first_test_image(classifier: Classifier) -> None:
    app = opened()
    one = reading(classifier, 0)
    assert app.header[0].value.startswith(CLASSES[one.likeliest])
    best = int(one.attention(list(one.maps)[-1], None).patches.argmax()) + 1
    assert f"The class token looks most at patch {best}," in words(app)
    assert "not explanations by themselves" in words(app)
    assert not app.query_params


def test_without_a_picture_it_asks_for_one(models: Path) -> None:
    assert "No picture is chosen yet" in words(opened(**{"from": "upload"}))


def test_the_prepared_image_is_the_classify_pages(classifier: Classifier, links: dict[str, dict[str, str]]) -> None:
    query = {"item": "7", "token": "24", "vlayer": "1", "vhead": "2", "crop": "box", "left": "25"}
    app = opened(**query)
    image = prepare(from_pixels(IMAGES[7], name=""), Recipe(crop="box", left=25)).image
    best = int(analyse(classifier, image).attention("layer 1", 1, token=24).patches.argmax()) + 1
    assert f"Patch 24 looks most at patch {best}," in words(app)
    assert app.query_params == query and links["pages/images/classify.py"] == query


@pytest.mark.parametrize("value", ["9" * 4_400, "-1", "101", "1_0", "\u0663", " 7", "inf"])
def test_a_percentage_in_the_link_that_is_none_is_left_out(models: Path, value: str) -> None:
    app = opened(crop="box", left=value, bottom=value)
    assert "The class token looks most at patch" in words(app)


def test_a_picture_that_shows_nothing_has_no_answer(models: Path) -> None:
    picture = STORE.keep(from_pixels(np.full((50, 40), 200, np.uint8), name="wall"))
    app = opened(**{"from": "upload", "set": picture})
    assert "nothing to see in this picture" in words(app) and not app.header


def test_nonsense_in_the_link_opens_with_the_defaults(models: Path) -> None:
    for view in ("?", "maps", "hide"):
        query = {"inside": view, "vlayer": "9", "vhead": "x", "vscale": "-", "token": "99", "hide": "a..99.0.-3", "many": "z"}
        opened(**query)


# -- all maps -----------------------------------------------------------------------------------------------------------------


def test_a_row_of_a_map_is_the_models(classifier: Classifier) -> None:
    app = opened(item="5", inside="maps", vlayer="2", vhead="1", token="24")
    weights = reading(classifier, 5).maps["layer 2"][0]
    row = weights[24]
    best = int(row.argmax())
    name = f"patch {best}" if best else "the class token"
    assert f"The query at patch 24 looks most at {name} ({row.max():.1%})" in words(app)
    assert f"looks {summaries.patch_distance(weights)[23]:.2f} patches away" in words(app)
    assert "Layer 2" in [one.value for one in app.header]


def test_the_rollout_is_a_map_too_and_the_choice_stays_between_views(classifier: Classifier) -> None:
    app = opened(item="5", inside="maps", vlayer="rollout", token="9")
    row = np.concatenate([[(one := reading(classifier, 5).rollout(9)).class_token], one.patches.ravel()])
    assert f"({row.max():.1%})" in words(app) and "patches away" not in words(app)
    app.selectbox(key="vlayer").set_value("1")
    ran(app)
    app.segmented_control(key="inside").set_value("picture")
    ran(app)
    assert app.selectbox(key="vlayer").value == "1" and app.selectbox(key="token").value == "9"
    assert app.query_params == {"item": "5", "vlayer": "1", "token": "9"}


def test_another_map_computes_nothing_anew(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[np.ndarray] = []
    answer = Classifier.answer

    def counted(classifier: Classifier, image: np.ndarray, unturned: np.ndarray | None = None) -> Answers:
        asked.append(image)
        return answer(classifier, image, unturned)

    monkeypatch.setattr(Classifier, "answer", counted)
    app = opened(item="5", inside="maps", crop="box", left="10")  # an image that no other test has asked for
    assert len(asked) == 1
    for key, value in (("vhead", "2"), ("vlayer", "1"), ("token", "7")):
        app.selectbox(key=key).set_value(value)
        ran(app)
    assert len(asked) == 1


# -- hidden patches -----------------------------------------------------------------------------------------------------------


def test_what_changes_is_what_the_classifier_says_of_the_painted_image(classifier: Classifier) -> None:
    """Of all test images some change their class; one that does and one that does not."""
    hidden = (17, 18, 19, 24, 25, 26)
    before = classifier.probabilities(IMAGES.copy())
    after = classifier.probabilities(np.stack([painted(item, *hidden) for item in range(len(IMAGES))]))
    changed = before.argmax(axis=1) != after.argmax(axis=1)
    for item in (int(np.argmax(changed)), int(np.argmin(changed))):
        app = opened(item=str(item), inside="hide", hide=".".join(map(str, hidden)))
        old, new = int(before[item].argmax()), int(after[item].argmax())
        said = words(app)
        if changed[item]:
            assert (
                f"Fooled with 6 patches**: **{CLASSES[old]}** has {after[item, old]:.1%} instead of {before[item, old]:.1%}"
                in said
            )
            assert f"**{CLASSES[new]}** {after[item, new]:.1%} instead of {before[item, new]:.1%}" in said
        else:
            assert f"still **{CLASSES[old]}**: {before[item, old]:.1%} before, {after[item, old]:.1%} now" in said
    assert changed.any() and not changed.all()


def test_hidden_patches_live_in_the_link(models: Path) -> None:
    app = opened(inside="hide", hide="13.12.20")
    assert app.multiselect(key="hide").value == ["12", "13", "20"] and app.query_params["hide"] == "12.13.20"
    app.multiselect(key="hide").set_value(["12"])
    assert ran(app).query_params["hide"] == "12"
    app.button(key="fool_all").click()
    assert "hide" not in ran(app).query_params and "Rub out patches until it says something else" in words(app)


@pytest.mark.parametrize("value", ["", "50", "0.-1", "a.b", "1e3", "12..x.\u0663.7", "9" * 400])
def test_a_bad_list_of_patches_is_read_as_far_as_it_goes(models: Path, value: str) -> None:
    app = opened(inside="hide", hide=value)
    assert app.multiselect(key="hide").value == (["7", "12"] if value.startswith("12") else [])


def test_what_occlusion_needs_is_shown_by_a_button_and_stands_on_the_board(classifier: Classifier) -> None:
    app = opened(item="5", inside="hide")
    needed = fooling.needed(reading(classifier, 5))
    assert needed.occlusion is not None and f"By occlusion: {len(needed.occlusion)}" in words(app)
    app.button(key="fool_show_1").click()
    ran(app)
    assert app.query_params["hide"] == ".".join(map(str, sorted(needed.occlusion)))
    assert "Fooled with" in words(app) and f"**{len(needed.occlusion)}**" in words(app)
    row = app.dataframe[0].value.iloc[0]
    assert row["patches"] == len(needed.occlusion) and row["link"].endswith(f"hide={app.query_params['hide']}")


# -- the test of the measures -------------------------------------------------------------------------------------------------


def test_the_measures_are_put_to_the_test(classifier: Classifier) -> None:
    app = opened(item="5", inside="truth")
    one = reading(classifier, 5)
    curves = cached_results.deletion_curves(one, one.likeliest)
    assert f"{curves.area('occlusion'):.3f}" in words(app)
