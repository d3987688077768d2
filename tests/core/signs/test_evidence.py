"""Which frames a gloss came from: by hand, by loops, and on the bundled clips."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from core.explain import faithfulness
from core.explain.faithfulness import deletion_curves
from core.explain.measures import METHODS
from core.signs import bundled_measures
from core.signs import evidence as evidences
from core.signs.decoding import gloss_spans
from core.signs.evidence import clip_relevance, explain_frame, frames_relevance, glosses_without, recognition_without
from core.signs.recogniser import ASL, DIGITS, Recogniser, load_recogniser
from core.signs.samples import clip_samples, track_samples
from core.signs.video import read_video

Array = NDArray[np.float32]


# -- by hand -------------------------------------------------------------------------------------------------------------------


def path_of(labels: list[int], sure: list[float]) -> NDArray[np.float64]:
    """(T, 3) log-probabilities whose likeliest labels are these, with these probabilities."""
    whole = np.stack([np.full(3, (1 - p) / 2) for p in sure])
    whole[np.arange(len(labels)), labels] = sure
    return np.log(whole)


def test_a_gloss_is_a_run_of_one_label():
    found = gloss_spans(path_of([0, 1, 1, 1, 0, 1, 2, 2], [0.5, 0.6, 0.9, 0.7, 0.5, 0.8, 0.6, 0.6]))
    assert [(one.label, one.first, one.last, one.peak) for one in found] == [
        (1, 1, 3, 2),
        (1, 5, 5, 5),  # after a blank, the same label again is another gloss
        (2, 6, 7, 6),  # of equals, the first
    ]
    assert [one.probability for one in found] == pytest.approx([0.9, 0.8, 0.6])
    assert gloss_spans(path_of([0, 0], [0.9, 0.9])) == []
    (only,) = gloss_spans(path_of([2], [0.9]))
    assert (only.label, only.first, only.last, only.peak) == (2, 0, 0, 0)


# -- by loops ------------------------------------------------------------------------------------------------------------------


def test_relevance_of_one_frame_against_a_loop(tiny):
    recogniser = load_recogniser(ASL, folder=tiny)
    one = track_samples()[0]
    encoded = recogniser.encode(recogniser.inputs(one.tracks, speaker=one.speaker)).detach().requires_grad_()
    steps, frame, label = encoded.shape[1], 7, 3
    logits, maps = recogniser.model.attend(encoded, return_attention=True)
    gradients = torch.autograd.grad(logits[0, frame, label], list(maps.values()))
    row_by_row = np.eye(steps)
    for weights, gradient in zip(maps.values(), gradients, strict=True):
        a, g = weights[0].detach().numpy().astype(np.float64), gradient[0].numpy()
        before, heads = row_by_row.copy(), len(a)
        for i in range(steps):
            for k in range(steps):
                passed = sum(max(0.0, g[head, i, k] * a[head, i, k]) for head in range(heads)) / heads
                row_by_row[i] += passed * before[k]
    expected = row_by_row[frame].copy()
    expected[frame] -= 1.0
    np.testing.assert_allclose(frames_relevance(recogniser, encoded, frame=frame, label=label), expected, atol=1e-7)
    found = clip_relevance(recogniser, one.tracks, frame=frame, label=label, speaker=one.speaker)
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.fixture(params=[DIGITS, ASL])
def read(tiny, request):
    """Each small model, with a clip of nine frames of its own."""
    rng = np.random.default_rng(1)
    if request.param == DIGITS:
        return load_recogniser(DIGITS, folder=tiny), rng.integers(0, 255, (9, 32, 32, 3), dtype=np.uint8)
    return load_recogniser(ASL, folder=tiny), rng.normal(150, 30, (18, 6)).astype(np.float32)


def test_every_method_says_something_of_every_frame(read):
    recogniser, clip = read
    found = explain_frame(recogniser, clip, frame=4, label=1)
    assert tuple(found.importance) == METHODS
    assert {importance.shape for importance in found.importance.values()} == {(9,)}
    maps = [weights.mean(axis=0) for weights in recogniser.answer(clip).attention.values()]
    rolled = np.eye(9)
    for weights in maps:
        rolled = (weights + np.eye(9)) / 2 @ rolled
    np.testing.assert_allclose(found.importance["attention"], maps[-1][4], atol=1e-6)
    np.testing.assert_allclose(found.importance["rollout"], rolled[4], atol=1e-6)
    probability = np.exp(recogniser.log_probabilities(clip)[4, 1])
    assert found.function(found.inputs[None]).item() == pytest.approx(probability, rel=1e-4)
    hidden = found.inputs.clone()
    hidden[6] = found.baseline[6]
    assert found.importance["occlusion"][6] == pytest.approx(probability - found.function(hidden[None]).item(), abs=1e-6)
    curves = deletion_curves(found, points=4)
    assert curves.answers["occlusion"][0] == pytest.approx(probability, rel=1e-4)
    for wrong in ({"frame": 9, "label": 1}, {"frame": -1, "label": 1}, {"frame": 0, "label": 999}):
        with pytest.raises(ValueError, match="there is no"):
            explain_frame(recogniser, clip, **wrong)


def test_glosses_without_frames_are_read_of_the_clip_with_its_mean_in_their_place(read):
    recogniser, clip = read
    hidden = np.zeros((2, 9), bool)
    hidden[1, [2, 3, 7]] = True
    whole, some = glosses_without(recogniser, clip)(hidden)
    assert whole == tuple(span.label for span in recogniser_spans(recogniser, recogniser.log_probabilities(clip)))
    inputs = recogniser.inputs(clip).clone()
    mean = inputs.float().mean(dim=1)
    inputs[:, [2, 3, 7]] = mean.round().to(inputs.dtype)[:, None] if recogniser.front == "frames" else mean[:, None]
    with torch.no_grad():
        logits = recogniser.logits(recogniser.encode(inputs))[0]
    assert some == tuple(span.label for span in recogniser_spans(recogniser, logits.log_softmax(dim=-1).numpy()))
    rest = recognition_without(recogniser, clip, recogniser.answer(clip), (2, 3, 7))
    np.testing.assert_allclose(rest.log_probabilities, logits.log_softmax(dim=-1).numpy(), atol=1e-5)
    assert [one.shape[-1] for one in rest.attention.values()] == [9] * len(rest.attention)
    left = explain_frame(recogniser, clip, frame=4, label=1, hidden=(2, 3, 7))
    assert left.function(left.inputs[None]).item() == pytest.approx(float(np.exp(rest.log_probabilities[4, 1])), rel=1e-4)
    np.testing.assert_allclose(left.importance["occlusion"][[2, 3, 7]], 0.0, atol=1e-6)


def recogniser_spans(recogniser: Recogniser, log_probabilities: Array):
    return gloss_spans(recogniser.confident(log_probabilities))


# -- on the bundled clips ------------------------------------------------------------------------------------------------------


def bundled(name: str, recogniser: Recogniser):
    """Clip, seconds and speaker of some bundled clips."""
    if name == DIGITS:
        for one in clip_samples():
            footage = read_video(one.path.read_bytes(), size=recogniser.image_size, fps=recogniser.fps)
            yield footage.frames, footage.seconds, None
    else:
        for one in track_samples()[::5]:
            yield one.tracks, np.arange(len(one.tracks)) / 30, one.speaker


@pytest.mark.parametrize("name", [DIGITS, ASL])
def test_integrated_gradients_are_complete_on_the_bundled_clips(name):
    recogniser = load_recogniser(name)
    seen = 0
    for clip, seconds, speaker in bundled(name, recogniser):
        glosses = gloss_spans(recogniser.answer(clip, seconds, speaker=speaker).log_probabilities)
        for one in glosses[:1]:
            found = evidences.explain_frame(recogniser, clip, frame=one.peak, label=one.label, speaker=speaker)
            with torch.no_grad():
                whole, empty = (found.function(x[None]).item() for x in (found.inputs, found.baseline))
            gap = found.importance["gradients"].sum() - (whole - empty)
            assert abs(gap) <= 0.01 * abs(whole - empty), (one, gap, whole, empty)
            seen += 1
    assert seen >= 4


def test_measures_that_are_bundled_are_those_that_the_model_makes_and_of_no_other_checkpoint() -> None:
    """One clip again; `python -m core faithful` writes the file after a checkpoint changed."""
    reader = load_recogniser(DIGITS)
    finding = faithfulness.read(DIGITS)
    assert finding is not None
    name, (clip, speaker) = next(iter(bundled_measures.clips(reader).items()))
    kept = bundled_measures.find(reader, name, finding.best)
    assert kept is not None and kept.shape == (4, len(clip))
    np.testing.assert_allclose(kept, bundled_measures.measured(reader, clip, speaker, finding.best), rtol=1e-3, atol=1e-3)
    assert bundled_measures.find(load_recogniser(ASL), bundled_measures.SENTENCES[0], "relevance") is None
    reader.fingerprint = "of another card"
    assert bundled_measures.find(reader, name, finding.best) is None
