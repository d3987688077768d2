"""Light on a garment by Streamlit's own test runner: what the stage holds is the model's, and what lies behind the answer."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from core.explain import faithfulness
from core.models.vit import CLASSES
from core.vision.analysis import PictureAnalysis, analyse
from core.vision.classifier import Classifier, load_classifier
from core.vision.evidence import losses_without, patches_needed
from core.vision.gallery import gallery
from core.vision.pictures import from_pixels
from core.vision.preprocessing import Recipe, prepare
from pages.shared.navigation import ROOT
from tests.core.vision.made_pictures import painted
from tests.pages.open_page import open_page, ran, words
from tests.pages.scenes import scene_of

PAGE = ROOT / "pages" / "images" / "classify.py"
IMAGES = gallery()[0]


opened = partial(open_page, PAGE)


@pytest.fixture
def classifier(models: Path) -> Classifier:
    return load_classifier(folder=models)


def reading(classifier: Classifier, item: int) -> PictureAnalysis:
    return analyse(classifier, IMAGES[item].copy())


# -- opening ------------------------------------------------------------------------------------------------------------------


def test_the_stage_holds_the_models_own_maps_and_what_counted_for_the_answer(classifier: Classifier) -> None:
    head, arrays = scene_of(opened(item="5"))
    one = reading(classifier, 5)
    assert head["stage"]["name"] == "picture" and head["stage"]["grid"] == [7, 7] and head["start"] == 0
    for name, weights in one.maps.items():
        np.testing.assert_array_equal(arrays[name], weights.astype(np.float16))
    np.testing.assert_allclose(arrays["relevance"][1:], one.relevance(one.likeliest)[1:], atol=1e-6)
    np.testing.assert_allclose(arrays["occlusion"][1:], losses_without(one, one.likeliest), atol=1e-6)
    assert arrays["occlusion"][0] == 0 and head["tokens"]["patch"][0] == "the class token"


def test_the_shipped_models_are_lit_by_the_measure_that_passed_their_test() -> None:
    """D38, of the two that a page computes at once: occlusion .253 of the CCT, relevance .214 of the ViT."""
    for name, best in (("cct", "occlusion"), ("vit", "relevance")):
        verdicts = faithfulness.read(name, folder=faithfulness.FOLDER).verdicts
        gains = {one: verdicts[one].gain for one in ("relevance", "occlusion")}
        assert max(gains, key=gains.__getitem__) == best
    head, _arrays = scene_of(opened(photo="4"))
    assert head["measures"][0]["name"] == "occlusion"


def test_the_recipe_of_the_link_is_followed(classifier: Classifier) -> None:
    query = {"item": "7", "inside": "truth", "crop": "box", "left": "25"}
    app = opened(**query)
    image = prepare(from_pixels(IMAGES[7], name=""), Recipe(crop=(25, 0, 100, 100))).image
    _head, arrays = scene_of(app)
    np.testing.assert_array_equal(arrays["layer 1"], analyse(classifier, image).maps["layer 1"].astype(np.float16))
    assert app.query_params == query and app.segmented_control(key="inside").value == "truth"


# -- hidden patches -----------------------------------------------------------------------------------------------------------


def test_what_changes_is_what_the_classifier_says_of_the_painted_image(classifier: Classifier) -> None:
    """Of all test images some change their class; one that does and one that does not."""
    hidden = (17, 18, 19, 24, 25, 26)
    before, after = (
        classifier.shares(classifier.answers(images))
        for images in (IMAGES.copy(), np.stack([painted(IMAGES[item], *hidden) for item in range(len(IMAGES))]))
    )
    changed = before.argmax(axis=1) != after.argmax(axis=1)
    for item in (int(np.argmax(changed)), int(np.argmin(changed))):
        app = opened(item=str(item), inside="hide", hide=".".join(map(str, hidden)))
        old, new = int(before[item].argmax()), int(after[item].argmax())
        said = words(app)
        if changed[item]:
            shares = f"{after[item, old]:.1%} instead of {before[item, old]:.1%}"
            assert f"Without 6 of 49 parts it is **{CLASSES[new]}**: **{CLASSES[old]}** has {shares}" in said
        else:
            assert f"still **{CLASSES[old]}**: {before[item, old]:.1%} before, {after[item, old]:.1%} now" in said
    assert changed.any() and not changed.all()


def test_hidden_patches_live_in_the_link(models: Path) -> None:
    app = opened(inside="hide", hide="13.12.20")
    assert app.query_params["hide"] == "12.13.20" and "Without 3 of 49 parts it is" in words(app)
    app.button(key="hide_back").click()
    assert "hide" not in ran(app).query_params and "Rub out patches on the stage until it says something else" in words(app)


def test_what_occlusion_needs_is_shown_by_a_button(classifier: Classifier) -> None:
    app = opened(item="5", inside="hide")
    occlusion = patches_needed(reading(classifier, 5)).ranked["occlusion"]
    assert occlusion is not None and f"By occlusion: {len(occlusion)}" in words(app)
    app.button(key="hide_show_1").click()
    ran(app)
    assert app.query_params["hide"] == ".".join(str(one + 1) for one in sorted(occlusion))
    assert "instead of" in words(app) and f"**{len(occlusion)}**" in words(app)
    head, arrays = scene_of(app)
    assert head["corner"].startswith(f"Without {len(occlusion)} of 49 parts it is")
    assert f"By occlusion: {len(occlusion)} · By attention: " in head["corner"] and head["arms"]
    assert head["answer"].split()[0] in head["corner"]
    rest = analyse(classifier, painted(IMAGES[5], *(one + 1 for one in occlusion)))
    np.testing.assert_allclose(arrays["relevance"], rest.relevance(rest.likeliest), atol=1e-5)
