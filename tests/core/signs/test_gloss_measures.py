"""What all glosses rest on: the rows, how spread attention is, which frames count, and the file."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest

from core.explain import summaries
from core.explain.rollout import rollout
from core.signs import gloss_measures, recognition
from core.signs.decoding import GlossSpan
from core.signs.evidence import attention_of_glosses, evidence
from core.signs.recogniser import ASL, DIGITS, load_recogniser
from core.signs.samples import track_samples
from tests.core.signs.tiny import save_tiny


@pytest.fixture(scope="module", params=[DIGITS, ASL])
def looked(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_tiny(folder)
    recogniser = load_recogniser(request.param, folder=folder)
    rng = np.random.default_rng(0)
    clip = rng.integers(0, 255, (12, 32, 32, 3), dtype=np.uint8) if request.param == DIGITS else track_samples()[0].tracks
    found = recogniser.answer(clip)
    return recogniser, clip, found, gloss_measures.measure_clip(recogniser, found, clip)


def test_rows_are_those_of_the_maps(looked):
    recogniser, clip, found, whole = looked
    assert list(whole.rows) == ["intra 1", "inter 1", "intra 2", "inter 2", "rollout", "relevance"]
    assert len(whole.glosses) >= 1
    np.testing.assert_allclose(whole.rolled, rollout(list(found.attention.values())))
    np.testing.assert_allclose(whole.rows["rollout"], attention_of_glosses(whole.rolled, list(whole.glosses)))
    for name, weights in found.attention.items():
        np.testing.assert_allclose(whole.rows[name], attention_of_glosses(weights.mean(axis=0), list(whole.glosses)), atol=1e-6)
        np.testing.assert_allclose(whole.rows[name].sum(axis=1), 1, atol=1e-5)
    one = whole.glosses[-1]
    asked = evidence(recogniser, clip, frame=one.peak, label=one.label)
    np.testing.assert_allclose(whole.rows["relevance"][-1], asked.importance["relevance"], atol=1e-9)


def test_spread_is_measured_against_what_a_sub_layer_can_see(looked):
    recogniser, _clip, found, whole = looked
    steps, step = len(found.seconds), found.seconds[1]
    window = recogniser.config.window
    entropy = distance = 0.0
    for i in range(steps):
        seen = [j for j in range(steps) if abs(i - j) <= window]
        entropy += np.log(len(seen)) / steps
        distance += sum(abs(i - j) for j in seen) / len(seen) * step / steps
    for name, one in whole.spreads.items():
        assert one.entropy == pytest.approx(summaries.mean_entropy(found.attention[name]))
        assert one.distance == pytest.approx(summaries.mean_distance(found.attention[name], step=step))
        if name.startswith("intra"):
            assert (one.even_entropy, one.even_distance) == pytest.approx((entropy, distance))
            assert one.entropy <= one.even_entropy + 1e-6
        else:
            assert one.even_entropy == pytest.approx(summaries.even_entropy(steps))
            assert one.even_distance == pytest.approx(summaries.even_distance(steps, step=step))


def test_which_frames_count():
    gloss = GlossSpan(label=1, first=1, last=2, peak=1, probability=0.9)
    found = gloss_measures.strongest_frames(np.array([0.1, 0.4, -0.9, 0.5, 0.09]), gloss)
    assert found.frames == (3, 1, 0)  # the last is under a fifth of the strongest, and what speaks against it does not count
    assert (found.inside, found.largest) == (1, 0.5)
    assert found.total == pytest.approx(0.19)
    assert gloss_measures.strongest_frames(np.ones(9), gloss, most=4).frames == (0, 1, 2, 3)
    nothing = gloss_measures.strongest_frames(np.array([-1.0, 0.0, 0.0]), gloss)
    assert (nothing.frames, nothing.inside, nothing.largest) == ((), 0, 0.0)


def test_the_row_of_one_gloss():
    one = gloss_measures.one_row(np.arange(3.0), 1, 4)
    assert one.shape == (4, 3)
    assert np.isnan(one[[0, 2, 3]]).all() and one[1].tolist() == [0, 1, 2]


def test_a_clip_without_glosses_has_empty_rows(looked):
    recogniser, clip, found, _whole = looked
    blank = np.full_like(found.log_probabilities, -5.0)
    blank[:, 0] = -0.1
    silent = gloss_measures.measure_clip(recogniser, recognition.Recognition(**{**vars(found), "log_probabilities": blank}), clip)
    assert silent.glosses == ()
    assert {rows.shape for rows in silent.rows.values()} == {(0, len(found.seconds))}
    with np.load(
        BytesIO(gloss_measures.to_npz(found, silent, recogniser.vocabulary.names, {}, None)), allow_pickle=False
    ) as arrays:
        assert arrays["spoken"].shape == (0, 4)
        assert arrays["chosen"] == -1


def test_the_file_holds_every_array(looked):
    recogniser, _clip, found, whole = looked
    names = recogniser.vocabulary.names
    data = gloss_measures.to_npz(found, whole, names, {"occlusion": np.arange(float(len(found.seconds)))}, 0)
    with np.load(BytesIO(data), allow_pickle=False) as arrays:
        for name, weights in found.attention.items():
            np.testing.assert_array_equal(arrays[name], weights)
        for measure, rows in whole.rows.items():
            np.testing.assert_array_equal(arrays[f"glosses: {measure}"], rows)
        assert arrays["importance: occlusion"].tolist() == list(range(len(found.seconds)))
        assert tuple(arrays["names"]) == names
        assert arrays["spoken"].tolist() == [[one.label, one.first, one.last, one.peak] for one in whole.glosses]
        np.testing.assert_array_equal(arrays["probabilities"], found.probabilities)
        np.testing.assert_array_equal(arrays["seconds"], found.seconds)
