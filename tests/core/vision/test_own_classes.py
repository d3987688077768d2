"""Classes of one's own: the fit against scikit-learn's, the held-out score against folds made by hand, the file, bad input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.linear_model import LogisticRegression

from core import npz
from core.vision.classifier import PHOTOGRAPHS, Classifier, load_classifier
from core.vision.gallery import photograph_gallery
from core.vision.own_classes import (
    ARRAYS,
    FAMILIAR,
    PENALTY,
    OwnClasses,
    OwnClassesError,
    as_read,
    background_of,
    base_of,
    distances,
    read_own_classes,
    teach,
)
from core.vision.pictures import decode
from tests.core.vision import tiny_vit

NAMES = ("mug", "plate", "anything else")
Bytes = NDArray[np.uint8]


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Classifier:
    folder = tmp_path_factory.mktemp("models")
    tiny_vit.save_tiny(folder, model=tiny_vit.learnt(steps=1))
    return load_classifier(folder=folder)


@pytest.fixture(scope="module")
def pictures() -> list[tuple[str, list[Bytes]]]:
    random = np.random.default_rng(0)
    made = []
    for row, name in enumerate(NAMES):
        images = random.integers(0, 256, (12, 28, 28))
        images[:, 9 * row : 9 * row + 9] //= 2
        made.append((name, [image.astype(np.uint8) for image in images]))
    return made


@pytest.fixture(scope="module")
def head(classifier: Classifier, pictures: list[tuple[str, list[Bytes]]]) -> OwnClasses:
    return teach(classifier, pictures)


def reference(x: NDArray[np.float64], y: NDArray[np.int64]) -> LogisticRegression:
    """The same loss by scikit-learn: with classes of equal size, C is one over twice the penalty and the rows."""
    return LogisticRegression(C=1 / (2 * PENALTY * len(x)), tol=1e-9, max_iter=5_000).fit(x, y)


def test_it_answers_as_scikit_learns_logistic_regression(
    classifier: Classifier, pictures: list[tuple[str, list[Bytes]]], head: OwnClasses
) -> None:
    features = np.concatenate([classifier.appearance(np.stack(images)) for _name, images in pictures])
    x, y = (features - features.mean(axis=0)) / (features.std(axis=0) + 1e-3), np.repeat(np.arange(3), 12)
    expected = reference(x, y).predict_proba(x)
    found = np.stack([head.answer(classifier, image)[0] for _name, images in pictures for image in images])
    np.testing.assert_allclose(found / found.sum(axis=1, keepdims=True), expected, atol=1e-3)
    assert (found.sum(axis=1) < 1).all(), "none of them is an answer, too"


def test_none_of_them_is_even_at_the_reach_and_rare_at_a_typical_distance(head: OwnClasses) -> None:
    assert head.none(head.reach) == pytest.approx(0.5) and head.none(head.typical) == pytest.approx(1 - FAMILIAR)
    assert head.none(head.reach + 1) > 0.9


def test_the_held_out_score_asks_about_neighbours_together(
    classifier: Classifier, pictures: list[tuple[str, list[Bytes]]], head: OwnClasses
) -> None:
    """Twelve pictures in five runs of neighbours, of 3, 2, 3, 2 and 2."""
    runs = np.repeat(np.arange(5), [3, 2, 3, 2, 2])
    features = np.stack([classifier.appearance(np.stack(images)) for _name, images in pictures])  # (classes, 12, width)
    right = []
    for run in range(5):
        kept = features[:, runs != run].reshape(-1, features.shape[-1])
        mean, deviation = kept.mean(axis=0), kept.std(axis=0) + 1e-3
        model = reference((kept - mean) / deviation, np.repeat(np.arange(3), (runs != run).sum()))
        for label in range(3):
            right += (model.predict((features[label, runs == run] - mean) / deviation) == label).tolist()
    assert head.held_out == pytest.approx(np.mean(right), abs=1e-9)


def test_what_is_far_from_every_picture_taught_is_unlike_them(
    classifier: Classifier, pictures: list[tuple[str, list[Bytes]]], head: OwnClasses
) -> None:
    """By SciPy's cosine distance from the nearest; what was taught is familiar."""
    features = np.concatenate([classifier.appearance(np.stack(images)) for _name, images in pictures])
    taught = (features - features.mean(axis=0)) / (features.std(axis=0) + 1e-3)
    np.testing.assert_allclose(head.taught, taught, atol=2e-3)
    asked = np.random.default_rng(5).integers(0, 256, (6, 28, 28)).astype(np.uint8)
    x = (classifier.appearance(asked) - head.mean) / head.deviation
    near = cdist(x, head.taught.astype(np.float64), "cosine").min(axis=1)
    shares = [head.answer(classifier, image)[0].sum() for image in asked]
    np.testing.assert_allclose(shares, [1 - head.none(distance) for distance in near], atol=1e-6)
    assert all(head.answer(classifier, image)[1] for _name, images in pictures for image in images)  # each is its own neighbour


def test_a_distance_is_how_much_nearer_the_others_are() -> None:
    random = np.random.default_rng(6)
    x, taught, others = (random.normal(size=(count, 7)) for count in (4, 5, 6))
    near, behind = (cdist(x, some, "cosine").min(axis=1) for some in (taught, others))
    np.testing.assert_allclose(distances(x, taught, others), near - behind)
    np.testing.assert_allclose(distances(x, taught, others[:0]), near)


def test_of_photographs_a_hat_and_shoes_are_unlike_two_classes_of_other_garments_and_shorts_are_not() -> None:
    """By the shipped model and its background, of which no picture is a bundled one."""
    shipped = load_classifier(PHOTOGRAPHS)
    by_kind: dict[str, list[Bytes]] = {}
    for one in photograph_gallery():
        by_kind.setdefault(one.kind, []).append(as_read(shipped, decode(one.data)))
    above = [image for kind in ("t-shirt", "longsleeve", "shirt", "outwear") for image in by_kind[kind]]
    below = [*by_kind["pants"], *by_kind["skirt"], *by_kind["shorts"][1:]]
    head = teach(shipped, [("above", above), ("below", below)])
    assert len(background_of(head.base, len(head.mean))) > 100
    shares, familiar = head.answer(shipped, by_kind["shorts"][0])
    assert familiar and shares.argmax() == 1
    assert not any(head.answer(shipped, image)[1] for kind in ("hat", "shoes") for image in by_kind[kind])


def test_twins_in_two_classes_score_at_chance(classifier: Classifier) -> None:
    """The same pictures under two names: nothing can tell them apart, so half at most are right."""
    random = np.random.default_rng(1)
    images = [image.astype(np.uint8) for image in random.integers(0, 256, (10, 28, 28))]
    assert teach(classifier, [("a", images), ("b", images)]).held_out <= 0.5


def test_a_file_gives_the_same_answers(classifier: Classifier, pictures: list[tuple[str, list[Bytes]]], head: OwnClasses) -> None:
    again = read_own_classes(head.to_npz())
    image = pictures[1][1][0]
    for one, other in zip(again.answer(classifier, image), head.answer(classifier, image), strict=True):
        np.testing.assert_array_equal(one, other)
    assert (again.names, again.counts, again.held_out) == (NAMES, (12, 12, 12), head.held_out)


def test_another_model_is_refused(head: OwnClasses, tmp_path: Path) -> None:
    tiny_vit.save_tiny(tmp_path, model=tiny_vit.learnt(steps=1, seed=9))
    other = load_classifier(folder=tmp_path)
    assert base_of(other) != head.base
    with pytest.raises(OwnClassesError, match="taught to another model"):
        head.answer(other, np.zeros((28, 28), np.uint8))


def test_a_file_that_names_the_model_but_has_other_features_is_refused(classifier: Classifier, head: OwnClasses) -> None:
    narrow = {name: getattr(head, name)[..., :-1] for name in ("mean", "deviation", "weights", "taught")}
    read = read_own_classes(replace(head, **narrow).to_npz())
    with pytest.raises(OwnClassesError, match="taught to another model"):
        read.answer(classifier, np.zeros((28, 28), np.uint8))


def test_too_little_to_learn_from_gets_a_sentence(classifier: Classifier) -> None:
    image = np.zeros((28, 28), np.uint8)
    for pictures, why in (
        ([("a", [image] * 5)], "2 to 12 classes, not 1"),
        ([("a", [image] * 5), ("a ", [image] * 5)], "a name of its own"),
        ([("a", [image] * 5), ("", [image] * 5)], "a name of its own"),
        ([("a", [image] * 5), ("b", [image] * 4)], "b has 4 pictures: give 5 or more"),
    ):
        with pytest.raises(OwnClassesError, match=why):
            teach(classifier, pictures)


def test_a_file_that_holds_no_head_gets_a_sentence(head: OwnClasses) -> None:
    good = npz.from_bytes(head.to_npz(), ARRAYS, max_bytes=1 << 20)
    broken = {
        "bias": np.zeros(2), "weights": np.full_like(good["weights"], np.nan), "names": np.array(["a"]),
        "deviation": np.zeros_like(good["deviation"]), "held_out": np.array("much"),
    }  # fmt: skip
    files = [b"", b"PK\x03\x04", npz.to_bytes({"names": np.array(["a"])})]
    files += [npz.to_bytes(good | {name: values}) for name, values in broken.items()]
    for data in files:
        with pytest.raises(OwnClassesError, match="no classes taught here"):
            read_own_classes(data)
