"""Every model on a device that fails: the processor answers in its place with the same numbers. And on a GPU, if any."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
import torch

from core import checkpoints, device
from core.device import Placement, failure_of
from core.lecture.date_reader import DateReader
from core.market.evidence import attention_without
from core.market.predictor import DEFAULT, Predictor
from core.signs import evidence as frames_that_count
from core.signs import samples
from core.signs.recogniser import ASL, load_recogniser
from core.vision import analysis, evidence
from core.vision.classifier import PHOTOGRAPHS, load_classifier
from core.vision.pictures import from_pixels
from core.vision.sight import SightReader
from core.vision.sight_files import SIGHT_FILES
from core.words import bundled
from core.words.model_files import WORD_FILES
from core.words.sentences import SentenceReader

Asked = tuple[Any, Callable[[], list[np.ndarray]]]
FAILURES = {"full": torch.OutOfMemoryError("CUDA out of memory"), "lost": torch.AcceleratorError("CUDA error: unspecified")}


def iiga() -> Asked:
    reader, clip = load_recogniser(ASL), samples.track_samples()[0]

    def ask() -> list[np.ndarray]:
        read = reader.answer(clip.tracks, speaker=clip.speaker)
        gloss = read.glosses[0]
        counted = frames_that_count.explain_frame(reader, clip.tracks, frame=gloss.peak, label=gloss.label, speaker=clip.speaker)
        importance = [counted.importance[name] for name in ("relevance", "occlusion")]
        return [read.log_probabilities, *read.attention.values(), *importance]

    return reader, ask


def garments(name: str) -> Asked:
    classifier = load_classifier(name)
    image = classifier.enlarged(np.random.default_rng(0).integers(0, 255, (1, 28, 28), dtype=np.uint8))[0]

    def ask() -> list[np.ndarray]:
        seen = analysis.analyse(classifier, image)
        return [seen.probabilities, *seen.maps.values(), seen.relevance(3), evidence.losses_without(seen, 3)]

    return classifier, ask


def words() -> Asked:
    if not WORD_FILES.available():
        pytest.skip("needs `make words`")
    reader = SentenceReader()

    return reader, lambda: list(attrgetter("weights", "vectors", "vector")(reader.read(bundled.TEXTS[0])))


def photographs() -> Asked:
    if not SIGHT_FILES.available():
        pytest.skip("needs `make sight`")
    reader, pixels = SightReader(), np.random.default_rng(0).integers(0, 255, (112, 112, 3), dtype=np.uint8)

    def ask() -> list[np.ndarray]:
        seen = reader.read(from_pixels(pixels, name=""), side=112)
        return [seen.salience, seen.tokens, seen.rows(0)]

    return reader, ask


def dates() -> Asked:
    reader = DateReader()

    def ask() -> list[np.ndarray]:
        read = reader.read("3 de mayo de 1979")
        return [read.trace.probabilities, *read.trace.maps.values(), reader.relevance(read, 2)]

    return reader, ask


def book() -> Asked:
    predictor = Predictor(checkpoints.load(DEFAULT))
    window = 100 + np.random.default_rng(1).random((1, predictor.window, 40))
    market = predictor.market("")

    def ask() -> list[np.ndarray]:
        probabilities, maps = attention_without(predictor, market, window[0], ())
        return [probabilities, predictor.predict(window, market).probabilities, *maps.values()]

    return predictor, ask


MODULES = ("signs.recogniser", "vision.classifier", "vision.sight", "words.sentences", "lecture.date_reader", "market.predictor")
MODELS: dict[str, Callable[[], Asked]] = {
    "IIGA": iiga,
    "CCT": lambda: garments(PHOTOGRAPHS),
    "ViT": lambda: garments("vit"),
    "DINOv2": photographs,
    "MiniLM": words,
    "Transformer": dates,
    "TLOB": book,
}


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A device that takes models and fails at each computation: PyTorch's "meta", whose tensors have shapes and no numbers."""
    monkeypatch.setattr(device, "best_device", lambda: torch.device("meta"))
    kind: str = request.param

    def fail(_part: object, _given: object) -> None:
        raise FAILURES[kind]

    class Spoilt(Placement[Any]):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            for part in self.model.modules():
                part.register_forward_pre_hook(fail)

    for module in MODULES:
        monkeypatch.setattr(f"core.{module}.Placement", Spoilt)
    return kind


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("failing", ["lost"], indirect=True)
def test_the_processor_answers_with_the_same_numbers(model: str, failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    placed, ask = MODELS[model]()
    assert placed.placement.device.type == "meta" and placed.placement.where == "gpu"
    answered = ask()
    assert (placed.placement.where, placed.placement.failure) == ("cpu", failing)
    monkeypatch.undo()
    monkeypatch.setattr(device, "best_device", lambda: torch.device("cpu"))
    on_processor, ask_it = MODELS[model]()
    assert on_processor.placement.failure == ""
    for one, other in zip(answered, ask_it(), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("model", MODELS)
def test_a_gpu_answers_as_the_processor_does(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    placed, ask = MODELS[model]()
    assert placed.placement.where == "gpu"
    answered = ask()
    assert placed.placement.where == "gpu"
    monkeypatch.setattr(device, "best_device", lambda: torch.device("cpu"))
    _, ask_it = MODELS[model]()
    for one, other in zip(answered, ask_it(), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-3)


def test_a_full_device_is_told_from_a_lost_one_and_any_other_error_is_raised() -> None:
    assert {kind: failure_of(error) for kind, error in FAILURES.items()} == {"full": "full", "lost": "lost"}
    placement = Placement(torch.nn.Linear(2, 2), torch.device("meta"))
    with pytest.raises(RuntimeError, match="shapes"):
        placement.run(_wrong)
    assert placement.where == "gpu"


def _wrong() -> None:
    raise RuntimeError("shapes differ")
