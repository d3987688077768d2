"""Classes taught by many phones: what is kept, what is refused, the score by phones, its interval."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.stats import binomtest

from core.lecture.classroom import ClassError, Classes
from core.vision import class_teaching
from core.vision.class_teaching import ASK, ClassTeaching, wilson
from core.vision.classifier import Classifier, load_classifier
from core.vision.own_classes import OwnClassesError
from core.vision.pictures import PictureError
from tests.core.vision.tiny_vit import learnt, save_tiny

NAMES = ("upright", "level")


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Classifier:
    folder = tmp_path_factory.mktemp("models")
    save_tiny(folder, model=learnt(steps=1))
    return load_classifier(folder=folder)


def saved(levels: np.ndarray, kind: str) -> bytes:
    file = BytesIO()
    Image.fromarray(levels).save(file, kind)
    return file.getvalue()


def jpeg(row: int, seed: int) -> bytes:
    """Stripes, upright or level."""
    stripes = np.where(np.arange(56) // 7 % 2, 230, 20) * np.ones((56, 1))
    levels = (stripes.T if row else stripes) + np.random.default_rng(seed).normal(0, 12, (56, 56))
    return saved(levels.clip(0, 255).astype(np.uint8), "JPEG")


@pytest.fixture
def taught(classifier: Classifier) -> ClassTeaching:
    """Seven phones, three pictures of each class."""
    teaching = ClassTeaching(classifier, NAMES)
    for place in range(7 * 6):
        answer = teaching.take(f"phone {place // 6}", bytes([place % 2]) + jpeg(place % 2, place))
        assert answer == {"row": place % 2, "mine": place % 6 // 2 + 1}
    return teaching


def test_the_score_asks_about_phones_that_the_head_did_not_learn_from(taught: ClassTeaching, classifier: Classifier) -> None:
    """A phone that names the two the other way round is wrong by all the others, though its own pictures agree."""
    assert taught.learn() and not taught.learn()
    assert [(one.share, one.pictures, one.phones) for one in taught.curve] == [(1.0, 42, 7)]
    assert taught.told()["counts"] == [21, 21] and taught.head is not None and taught.head.counts == (21, 21)
    swapped = ClassTeaching(classifier, NAMES)
    for place in range(24):
        swapped.take(f"{place // 12}", bytes([(place + place // 12) % 2]) + jpeg(place % 2, place))
    assert swapped.learn() and [(one.share, one.phones) for one in swapped.curve] == [(0.0, 2)]


def test_the_interval_is_wilsons_and_counts_each_phone_once() -> None:
    for right, count in ((0, 7), (5, 7), (30, 30)):
        expected = binomtest(right, count).proportion_ci(method="wilson")
        np.testing.assert_allclose(wilson(right / count, count), (expected.low, expected.high), atol=1e-4)


def test_a_question_is_answered_and_not_kept(taught: ClassTeaching) -> None:
    assert taught.take("phone 0", bytes([ASK]) + jpeg(0, 99)) == {"row": ASK}, "nothing is learnt yet"
    taught.learn()
    answer = taught.take("a stranger", bytes([ASK]) + jpeg(0, 99))
    assert answer["name"] in NAMES and 0.5 <= answer["share"] <= 1 and "mine" not in answer
    assert sum(taught.phones().values()) == 42


def test_a_fit_that_was_under_way_brings_no_phone_back(taught: ClassTeaching, monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader takes a phone out while the page fits its pictures; the press runs the page again at once, beside that fit."""
    fit, fitting, go_on = class_teaching.fit_head, threading.Event(), threading.Event()

    def slow_at_first(*of: Any) -> Any:
        if not fitting.is_set():
            fitting.set()
            assert go_on.wait(20)
        return fit(*of)

    monkeypatch.setattr(class_teaching, "fit_head", slow_at_first)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(taught.learn)
        assert fitting.wait(10)
        taught.remove(3)
        second = pool.submit(taught.learn)
        wait([second], timeout=1.0)  # it may be done before the first, or wait for it
        go_on.set()
        assert first.result(20) and second.result(20)
    assert taught.head is not None and taught.head.counts == (18, 18)
    assert [one.pictures for one in taught.curve] == [42, 36]


def test_a_phone_is_taken_out_and_stays_out(taught: ClassTeaching) -> None:
    taught.remove(3)
    assert taught.phones() == dict.fromkeys([1, 2, 4, 5, 6, 7], 6) and taught.learn() and taught.counts() == [18, 18]
    with pytest.raises(OwnClassesError, match="takes no more of them"):
        taught.take("phone 2", b"\0" + jpeg(0, 0))
    for phone in (1, 2, 4, 5, 7):
        taught.remove(phone)
    assert taught.learn() and taught.head is None and taught.told()["score"] is None, "one phone is no test of itself"


def test_what_is_sent_is_bounded(taught: ClassTeaching, monkeypatch: pytest.MonkeyPatch) -> None:
    for data, why in (
        (b"", "JPEG"),
        (b"\2" + jpeg(0, 0), "no such class"),
        (b"\0" + saved(np.zeros((9, 9), np.uint8), "PNG"), "JPEG"),
    ):
        with pytest.raises(OwnClassesError, match=why):
            taught.take("phone 0", data)
    with pytest.raises(PictureError, match="damaged or cut short"):
        taught.take("phone 0", b"\0" + jpeg(0, 0)[:200])
    with pytest.raises(PictureError):
        taught.take("phone 0", b"\0" + saved(np.zeros((1_100, 1_100), np.uint8), "JPEG"))
    for limit, most, why in (
        ("MAX_EACH", 3, "3 pictures of a class"),
        ("MAX_PICTURES", 42, "has 42"),
        ("MAX_PHONES", 7, "7 phones"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(class_teaching, limit, most)
            with pytest.raises(OwnClassesError, match=why):
                taught.take("new" if limit == "MAX_PHONES" else "phone 0", b"\0" + jpeg(0, 0))
    assert sum(taught.phones().values()) == 42


def test_a_class_passes_pictures_on_and_forgets_them_with_itself(classifier: Classifier) -> None:
    rooms = Classes()
    code, _key = rooms.open()
    with pytest.raises(ClassError, match="no pictures now"):
        rooms.teach(code, "a", b"\0" + jpeg(0, 0))
    rooms.learn(code, ClassTeaching(classifier, NAMES))
    assert rooms.teach(code, "a", b"\1" + jpeg(1, 0)) == {"row": 1, "mine": 1}
    assert '"counts": [0, 1]' in rooms.slots(code, "en", {})["lessons"][1]
    rooms.learn(code, None)
    assert rooms.slots(code, "en", {})["lessons"][1] == "null" and rooms.learner(code) is None
    rooms.close(code)
    with pytest.raises(ClassError, match="no class is open"):
        rooms.learn(code, None)
