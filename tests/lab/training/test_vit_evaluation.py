"""The scores of `evaluate vit` on photographs: against counts made by hand from the classifier's own answers, and by command."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps
from sklearn.metrics import confusion_matrix

from core.cli import main
from core.models.vit import CLASSES, ViTConfig
from core.vision.classifier import Answers, Classifier, load_classifier
from core.vision.gallery import gallery, photograph_gallery
from core.vision.photographs import KINDS, Photograph, PhotographsError, photographs
from core.vision.pictures import decode, png
from core.vision.preprocessing import model_for, prepare
from lab.training.vit import evaluate
from lab.vision.idx import IdxPart
from lab.vision.photograph_scores import evaluate_photographs
from tests.core.vision import made_pictures, tiny_vit
from tests.core.vision.test_photographs import PHOTOS, write

IMAGES, LABELS, _ROWS = gallery()
NAMES = tuple(KINDS.values())


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return load_classifier(folder=tiny_vit.FOLDER)


class Answering:
    """A classifier that answers with given labels, confidences and strangenesses, in turn."""

    threshold = 1.0
    config = ViTConfig()
    manner = "dataset"
    turn_margin = None
    class_names = NAMES
    asked = 0

    def __init__(self, answers: list[tuple[str, float, float]]) -> None:
        probabilities = np.zeros((len(answers), 10))
        for row, (name, confidence, _strangeness) in zip(probabilities, answers, strict=True):
            row[:] = (1 - confidence) / 9
            row[NAMES.index(name)] = confidence
        strangeness = np.array([one[2] for one in answers])
        self.given = Answers(logits=np.log(probabilities), probabilities=probabilities, strangeness=strangeness)

    def shares(self, answers: Answers) -> np.ndarray:
        """Half as much where "none" is likelier."""
        return answers.probabilities * np.where(answers.strangeness > self.threshold, 0.5, 1.0)[:, None]

    def answer(self, image: np.ndarray, unturned: np.ndarray | None = None) -> Answers:
        assert image.shape == (28, 28) and unturned is None
        row = slice(self.asked, self.asked + 1)
        self.asked += 1
        return Answers(**{name: values[row] for name, values in vars(self.given).items()})


def test_shares_are_over_the_ten_kinds() -> None:
    """Six photographs, four right, two flagged; one of another kind."""
    data = png(255 - IMAGES[0])
    rows = [
        Photograph(file=str(place), kind=kind, data=data)
        for place, kind in enumerate(("longsleeve", "shoes", "dress", "pants", "hat", "blazer", "skirt"))
    ]
    answering: Any = Answering(
        [
            ("Long sleeve", 0.90, 0.5),
            ("Shoes", 0.90, 2.0),
            ("Coat or jacket", 0.50, 0.5),
            ("Trousers", 0.90, 0.5),
            ("Hat", 0.90, 2.0),
            ("Dress", 0.50, 0.5),
        ]
    )
    scores = evaluate_photographs(lambda _: answering, rows)
    assert (scores["samples"], scores["left_out"]) == (6, 1)
    assert (scores["accuracy"], scores["flagged"]) == pytest.approx((4 / 6, 2 / 6), abs=1e-4)
    # three bins: 0.9 and 0.45 with both right, 0.5 with none
    assert scores["ece"] == pytest.approx((2 * 0.1 + 2 * 0.55 + 2 * 0.5) / 6, abs=1e-4)
    assert scores["by_kind"]["dress"] == {"samples": 1, "accuracy": 0.0, "flagged": 0.0, "called": {"Coat or jacket": 1}}
    assert list(scores["by_kind"]) == ["longsleeve", "pants", "dress", "shoes", "hat", "skirt"]  # as KINDS has them


def test_a_photograph_that_shows_nothing_is_flagged() -> None:
    rows = [Photograph(file="white", kind="dress", data=png(np.full((40, 40), 255, np.uint8)))]
    answering: Any = Answering([("Dress", 0.9, 0.0)])
    assert evaluate_photographs(lambda _: answering, rows)["flagged"] == 1.0


def test_it_asks_of_photographs_what_the_page_asks(classifier: Classifier) -> None:
    rows = list(photographs(PHOTOS / "validation.parquet"))
    scores = evaluate_photographs(lambda _: classifier, rows)
    assert (scores["samples"], scores["left_out"]) == (10, 0)
    hits = strange = 0
    for row in rows:
        image = prepare(decode(row.data)).image[None]
        hits += classifier.class_names[int(classifier.probabilities(image).argmax())] == row.name
        strange += int(classifier.strangeness(image)[0] > classifier.threshold)
    assert scores["accuracy"] == pytest.approx(hits / 10, abs=1e-4)
    assert scores["flagged"] == pytest.approx(strange / 10, abs=1e-4)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([Photograph(file="a.jpg", kind="dress", data=b"text")], r"a\.jpg: the file is not a picture"),
        ([Photograph(file="a.jpg", kind="blazer", data=b"")], "none of the photographs is of one of the ten kinds: t-shirt"),
        ([], "none of the photographs"),
    ],
)
def test_what_cannot_be_scored_gets_one_sentence(classifier: Classifier, rows: list[Photograph], words: str) -> None:
    with pytest.raises(PhotographsError, match=words):
        evaluate_photographs(lambda _: classifier, rows)


def test_the_command_prints_what_the_contract_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], classifier: Classifier
) -> None:
    common = ["evaluate", "vit", "--folder", str(tiny_vit.FOLDER)]
    assert main([*common, "--data", str(PHOTOS), "--split", "validation", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {"model", "samples", "accuracy", "by_kind", "flagged", "ece"} <= set(printed)
    assert printed["model"] == "vit"
    expected = evaluate_photographs(lambda _: classifier, photographs(PHOTOS / "validation.parquet"))
    assert {key: printed[key] for key in expected} == expected
    assert main([*common, "--data", str(PHOTOS)]) == 0
    table = capsys.readouterr().out
    assert f"flagged                  {printed['flagged']}" in table and "dress" in table
    assert main([*common, "--data", str(PHOTOS), "--split", "test"]) == 2
    assert "no split 'test'" in capsys.readouterr().err
    write(tmp_path / "bad.parquet", [{"file": "x"}])
    assert main([*common, "--data", str(tmp_path)]) == 2
    assert "photographs come with file, kind and jpeg" in capsys.readouterr().err


def test_scores_of_images_agree_with_scikit_learn(classifier: Classifier) -> None:
    part = IdxPart(images=IMAGES.copy(), labels=(LABELS + (np.arange(60) % 7 == 0)) % 10)
    counted: list[tuple[int, int]] = []
    scores = evaluate(classifier, part, progress=lambda done, total: counted.append((done, total)))
    assert counted == [(60, 60)]
    called = classifier.probabilities(part.images).argmax(axis=1)
    np.testing.assert_array_equal(scores["confusion"], confusion_matrix(part.labels, called, labels=range(10)))
    assert scores["accuracy"] == pytest.approx((called == part.labels).mean(), abs=1e-6)


def test_a_model_of_the_ten_kinds_is_not_scored_on_the_data_sets_images(classifier: Classifier) -> None:
    other = load_classifier(folder=tiny_vit.FOLDER)
    other.class_names = NAMES
    with pytest.raises(ValueError, match="give a folder of photographs"):
        evaluate(other, IdxPart(images=IMAGES, labels=LABELS))


def answers_of(data: dict[str, tuple[str, bytes]], folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What `evaluate vit` prints of pictures by name, each with its kind."""
    write(folder / "made.parquet", [{"file": name, "kind": kind, "jpeg": one} for name, (kind, one) in data.items()])
    assert main(["evaluate", "vit", "--data", str(folder), "--json"]) == 0
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    return printed


def test_a_border_changes_no_answer_on_photographs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As the page answers them: with a white or black border most went to the model of 28 x 28 pixels, and were wrong."""
    plain = [(row.kind, row.data) for row in photograph_gallery()[::3]]
    bordered = [
        (kind, png(np.asarray(ImageOps.expand(Image.fromarray(decode(data).rgb), 9, colour))))
        for (kind, data), colour in zip(plain, ("white", "black") * 5, strict=True)
    ]
    before, after = (answers_of({str(i): one for i, one in enumerate(rows)}, tmp_path, capsys) for rows in (plain, bordered))
    assert after["accuracy"] >= before["accuracy"] - 0.1 and after["flagged"] <= before["flagged"] + 0.1


def test_drawings_on_white_are_flagged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A page of text, a mug and a triangle were a bag with 99 %, unflagged."""
    drawings = {name: ("skirt", png(np.asarray(one))) for name, one in made_pictures.drawings().items()}
    dress = next(row for row in photograph_gallery() if row.kind == "dress")
    scores = answers_of({"dress": ("dress", dress.data), **drawings}, tmp_path, capsys)
    assert scores["by_kind"]["skirt"]["flagged"] == 1.0


def test_the_command_answers_each_picture_by_the_model_that_the_page_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An enlarged test image is the ViT's, which knows it for sure."""
    boot = next(image for image, label in zip(IMAGES, LABELS, strict=True) if CLASSES[label] == "Ankle boot")
    enlarged = png(boot.repeat(10, axis=0).repeat(10, axis=1))
    assert model_for(decode(enlarged), ["cct", "vit"]) == "vit"
    scores = answers_of({"boot": ("shoes", enlarged)}, tmp_path, capsys)
    assert scores["by_kind"]["shoes"]["called"] == {"Ankle boot": 1} and scores["flagged"] == 0.0
