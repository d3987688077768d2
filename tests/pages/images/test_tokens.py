"""The steps from patches to tokens by Streamlit's own test runner: its numbers are the model's."""

from functools import partial
from pathlib import Path

import pytest

from core.vision.classifier import Classifier, load_classifier
from core.vision.gallery import gallery
from core.vision.walkthrough import walk
from pages.shared.navigation import ROOT
from tests.pages.open_page import open_page, words

PAGE = ROOT / "pages" / "images" / "classify.py"
IMAGE = gallery()[0][5]
STAGES = ("patches", "embedding", "positions", "layer", "classes")


opened = partial(open_page, PAGE, inside="tokens")


@pytest.fixture
def classifier(models: Path) -> Classifier:
    return load_classifier(folder=models)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("patch", ["0", "17"])
def test_every_step_of_every_kind_of_token(models: Path, stage: str, patch: str) -> None:
    app = opened(item="5", stage=stage, patch=patch)
    assert app.header[1].value[0] == str(STAGES.index(stage) + 1)


def test_the_numbers_are_this_images(classifier: Classifier) -> None:
    found = walk(classifier.model, classifier.normalise(IMAGE[None].copy()), temperature=classifier.temperature)
    text = words(opened(item="5", stage="embedding", patch="24", byhand="3"))
    assert f"{found.embedded[23, 2]:.4f}" in text
    grey = " ".join(words(opened(item="5", stage="patches", patch="24")).split())
    assert all(" ".join(map(str, row)) in grey for row in IMAGE[12:16, 8:12])
    text = words(opened(item="5", stage="classes"))
    assert f"{classifier.probabilities(IMAGE[None].copy()).max():.4f}" in text
