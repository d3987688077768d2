"""The teaching CTC against torch's, against all paths written out, and against a closed form of their number."""

from itertools import chain, pairwise, product
from math import comb

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from core.signs import ctc
from core.signs.decoding import collapse


def random_case(random: np.random.Generator) -> tuple[np.ndarray, list[int]]:
    """Logits (T, V) and a target: any length, few labels (so that they repeat), sometimes empty, often with T exactly U + r."""
    vocabulary = int(random.integers(2, 8))
    target = random.integers(1, vocabulary, int(random.integers(0, 9))).tolist()
    needed = ctc.frames_needed(target)
    frames = needed if random.random() < 0.3 else needed + int(random.integers(0, 25))
    return random.normal(0, random.choice([0.5, 3.0, 20.0]), (frames, vocabulary)), target


def reference(logits: np.ndarray, target: list[int]) -> tuple[float, np.ndarray]:
    inputs = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
    loss = F.ctc_loss(
        inputs.log_softmax(-1)[:, None],
        torch.tensor([target], dtype=torch.long).reshape(1, -1),
        torch.tensor([len(logits)]),
        torch.tensor([len(target)]),
        reduction="sum",
    )
    loss.backward()
    assert inputs.grad is not None
    return float(loss.detach()), inputs.grad.numpy()


def test_loss_and_gradient_equal_torch_on_a_thousand_cases():
    random = np.random.default_rng(0)
    seen = {"empty": 0, "tight": 0, "repeats": 0}
    for _ in range(1000):
        logits, target = random_case(random)
        seen["empty"] += not target
        seen["tight"] += len(logits) == ctc.frames_needed(target)
        seen["repeats"] += ctc.repeats(target) > 0
        found = ctc.lattice(ctc.log_softmax(logits), target)
        loss, gradient = reference(logits, target)
        assert found.loss == pytest.approx(loss, rel=1e-6, abs=1e-6)
        np.testing.assert_allclose(found.gradient, gradient, atol=1e-5)
        np.testing.assert_allclose(found.gradient.sum(axis=1), 0, atol=1e-9)
        np.testing.assert_allclose(found.posteriors.sum(axis=1), 1, atol=1e-9)
        np.testing.assert_allclose(np.logaddexp.reduce(found.alpha + found.beta, axis=1), found.log_probability, atol=1e-8)
    assert min(seen.values()) > 50, seen


@pytest.mark.parametrize(("frames", "vocabulary"), [(1, 3), (3, 3), (4, 3), (5, 3)])
def test_all_paths_written_out_give_every_target_its_probability(frames, vocabulary):
    log_probabilities = ctc.log_softmax(np.random.default_rng(frames).normal(0, 1.5, (frames, vocabulary)))
    by_target: dict[tuple[int, ...], dict[tuple[int, ...], float]] = {}
    for path in product(range(vocabulary), repeat=frames):
        score = float(log_probabilities[np.arange(frames), path].sum())
        by_target.setdefault(tuple(collapse(path)), {})[path] = score
    total = 0.0
    for target, paths in by_target.items():
        found = ctc.lattice(log_probabilities, target)
        assert found.log_probability == pytest.approx(float(np.logaddexp.reduce(list(paths.values()))), abs=1e-10)
        assert found.loss == pytest.approx(-float(np.logaddexp.reduce(list(paths.values()))), abs=1e-10)
        listed = ctc.valid_paths(found)
        assert {path.labels: pytest.approx(path.log_probability) for path in listed} == paths
        assert len(listed) == len(paths) == ctc.count_paths(target, frames)
        best = ctc.best_path(found)
        assert best.log_probability == pytest.approx(max(paths.values()))
        assert best.labels == max(paths, key=lambda path: paths[path])
        total += float(np.exp(found.log_probability))
    assert total == pytest.approx(1)


@pytest.mark.parametrize("target", [[], [1], [1, 2], [1, 1], [1, 2, 2, 2, 3], [3, 3, 1, 1]])
@pytest.mark.parametrize("more", [0, 1, 7, 40])
def test_the_number_of_paths_has_a_closed_form(target, more):
    frames = ctc.frames_needed(target) + more
    assert ctc.extended(target).tolist() == [0, *chain.from_iterable((label, 0) for label in target)]
    assert ctc.count_paths(target, frames) == comb(frames + len(target) - ctc.repeats(target), 2 * len(target))


@pytest.mark.parametrize("target", [[], [1], [1, 2], [2, 2]])
def test_only_the_last_two_states_end_a_sentence(target):
    """Every walk over the states written out: those that end in the last two are the total, all of them section 11.7's sum."""
    log_probabilities = ctc.log_softmax(np.random.default_rng(7).normal(0, 1, (4, 3)))
    states = [0, *chain.from_iterable((label, 0) for label in target)]
    scores: dict[bool, list[float]] = {True: [], False: []}
    for walk in product(range(len(states)), repeat=4):
        legal = walk[0] < 2
        for before, after in pairwise(walk):
            over_a_blank = after - before == 2 and states[after] not in (0, states[before])
            legal = legal and (after - before in (0, 1) or over_a_blank)
        if legal:
            score = sum(log_probabilities[t, states[s]] for t, s in enumerate(walk))
            scores[walk[-1] >= len(states) - 2].append(float(score))
    found = ctc.lattice(log_probabilities, target)
    assert found.log_probability == pytest.approx(float(np.logaddexp.reduce(scores[True])), abs=1e-10)
    assert found.unfinished_log_probability == pytest.approx(float(np.logaddexp.reduce(scores[True] + scores[False])), abs=1e-10)


def test_without_the_skip_only_paths_through_every_blank_count():
    log_probabilities = ctc.log_softmax(np.random.default_rng(3).normal(0, 1, (6, 4)))
    whole, without = ctc.lattice(log_probabilities, [1, 2, 3]), ctc.lattice(log_probabilities, [1, 2, 3], skip=False)
    through = [path for path in ctc.valid_paths(whole) if {2, 4} <= set(path.states)]
    assert 0 < len(through) < len(ctc.valid_paths(whole))
    assert without.log_probability == pytest.approx(float(np.logaddexp.reduce([path.log_probability for path in through])))
    assert [path.states for path in ctc.valid_paths(without)] == [path.states for path in through]
    np.testing.assert_allclose(without.posteriors.sum(axis=1), 1)
    assert set(ctc.best_path(without).states) >= {2, 4}
    assert without.unfinished_log_probability > without.log_probability  # section 11.7 counts what never finished


def test_too_few_frames_are_refused_in_one_sentence():
    frames = ctc.log_softmax(np.zeros((3, 4)))
    with pytest.raises(ctc.CTCError, match="3 labels and 1 repeats next to each other need 4 frames, and there are 3"):
        ctc.lattice(frames, [1, 1, 2])
    with pytest.raises(ctc.CTCError, match="need 5 frames"):
        ctc.lattice(frames, [1, 2, 3], skip=False)
    assert ctc.count_paths([1, 1, 2], 3) == 0
    assert ctc.lattice(frames, [1, 2, 3]).loss == pytest.approx(3 * np.log(4))
    for bad in ([0], [4], [-1]):
        with pytest.raises(ctc.CTCError, match="labels run from 1 to 3"):
            ctc.lattice(frames, bad)
    with pytest.raises(ctc.CTCError, match="one frame or more"):
        ctc.lattice(np.zeros((0, 4)), [])


def test_an_impossible_target_has_an_infinite_loss_and_no_gradient():
    with np.errstate(divide="ignore"):
        frames = np.log(np.array([[1.0, 0.0], [1.0, 0.0]]))
    found = ctc.lattice(frames, [1])
    assert found.loss == np.inf
    assert not found.posteriors.any()
    assert np.isnan(found.gradient).all()


def test_many_paths_are_counted_but_not_listed():
    found = ctc.lattice(ctc.log_softmax(np.zeros((30, 5))), [1, 2, 3, 4])
    with pytest.raises(ctc.CTCError, match=f"{comb(34, 8)} paths"):
        ctc.valid_paths(found)
    assert found.loss == pytest.approx(30 * np.log(5) - np.log(comb(34, 8)))
