"""The classifier: what it computes against the model asked by hand, its card's demands, and the words of its refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import logsumexp

from core import checkpoints
from core.models.vit import CLASSES, ViT, ViTConfig
from core.vision.classifier import Classifier, energy, load_classifier
from core.vision.pictures import from_pixels
from core.vision.preprocessing import Recipe, prepare
from core.vision.uprightness import prepare_upright
from tests.core.models import numpy_vit
from tests.core.test_checkpoints import CARD as PLAIN

CONFIG = ViTConfig(width=16, heads=2, layers=2, hidden=16)
CARD: dict[str, Any] = PLAIN | {
    "model": "vit",
    "config": CONFIG.to_dict(),
    "classes": list(CLASSES),
    "transform": {"mean": 0.28, "std": 0.35},
    "calibration": {"temperature": 0.7},
    "strangeness": {"threshold": -2.0},
}
IMAGES = np.random.default_rng(0).integers(0, 256, (7, 28, 28), dtype=np.uint8)


def model() -> ViT:
    torch.manual_seed(0)
    return ViT(CONFIG).eval()


@pytest.fixture
def classifier(tmp_path: Path) -> Classifier:
    checkpoints.save("vit", model(), CARD, folder=tmp_path)
    return load_classifier(folder=tmp_path)


def test_it_answers_as_the_model_does_at_the_cards_temperature(classifier: Classifier) -> None:
    weights = {name: value.double().numpy() for name, value in model().state_dict().items()}
    logits = torch.tensor(np.stack([numpy_vit.forward(weights, CONFIG, (image / 255 - 0.28) / 0.35)[0] for image in IMAGES]))
    with torch.no_grad():
        np.testing.assert_allclose(model()(classifier.normalise(IMAGES).cpu()), logits, atol=1e-5)
    answers = classifier.answers(IMAGES)
    np.testing.assert_allclose(answers.logits, logits, atol=1e-5)
    np.testing.assert_allclose(answers.probabilities, (logits / 0.7).softmax(dim=1), atol=1e-5)
    np.testing.assert_allclose(answers.strangeness, -logsumexp(logits.double().numpy(), axis=1), atol=1e-5)
    np.testing.assert_allclose(classifier.probabilities(IMAGES), answers.probabilities)


def test_attention_comes_from_all_heads_of_all_layers(classifier: Classifier) -> None:
    maps = classifier.attention(IMAGES)
    assert list(maps) == ["layer 1", "layer 2"]
    for weights in maps.values():
        assert weights.shape == (7, 2, 50, 50)
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)


def test_no_images_give_no_answers(classifier: Classifier) -> None:
    assert classifier.probabilities(IMAGES[:0]).shape == (0, 10)
    assert classifier.strangeness(IMAGES[:0]).shape == (0,)


def test_energy_does_not_overflow() -> None:
    assert energy(np.array([[1_000.0, 999.0]]))[0] == pytest.approx(-logsumexp([1_000.0, 999.0]))


@pytest.mark.parametrize("images", [IMAGES[0], IMAGES.astype(float), IMAGES[:, :27]])
def test_other_images_are_refused(classifier: Classifier, images: np.ndarray) -> None:  # type: ignore[type-arg]
    with pytest.raises(ValueError, match=r"uint8 of shape \(n, 28, 28\)"):
        classifier.normalise(images)


def test_the_model_of_photographs_refuses_what_was_prepared_for_the_other() -> None:
    """It enlarged 28 x 28 grey pixels by itself, and answered otherwise than on the photograph."""
    cct, picture = load_classifier("cct"), from_pixels(IMAGES[0], name="")
    for given in (prepare(picture), prepare(picture).image[None], IMAGES):
        with pytest.raises(
            ValueError, match=r"cct reads images that are uint8 of shape \(n, 128, 128, 3\), not .*prepare_upright"
        ):
            cct.answers(given)  # type: ignore[arg-type]
    read = prepare_upright(cct, picture, Recipe(manner=cct.manner)).image
    assert cct.answers(read[None]).probabilities.shape == (1, 10) == cct.answers(cct.enlarged(IMAGES[:1])).logits.shape


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "tlob"}, "ViT is needed here"),
        ({"calibration": {}}, "lacks 'temperature'"),
        ({"config": {"p": 1}}, "describe"),
        ({"transform": {"mean": 0.28, "std": 0.0}}, "must be above 0"),
        ({"calibration": {"temperature": float("nan")}}, "must be finite"),
        ({"calibration": []}, "another type"),
        ({"strangeness": None}, "another type"),
        ({"strangeness": {"threshold": 1.0, "means": "!", "whitening": 3}}, "describe"),
        ({"classes": ["Dress"]}, "must name 10 classes"),
        ({"classes": None}, "another type"),
        ({"metrics": {"photographs": {"samples": "many"}}}, "describe"),
    ],
)
def test_a_card_of_something_else_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    checkpoints.save("vit", model(), CARD | change, folder=tmp_path)
    with pytest.raises(checkpoints.CheckpointError, match=message):
        load_classifier(folder=tmp_path)
