"""The lab's problems: columns that lose nothing, edits that read back, collapse in two steps."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from core.signs import ctc, ctc_lab
from core.signs.decoding import greedy


@pytest.mark.parametrize("fill", get_args(ctc_lab.Fill))
@pytest.mark.parametrize("target", ["", "A", "A B", "A A B", "A B C D E F G H I J K L"])
def test_every_made_problem_is_sound_and_the_tables_three_decimals_are_what_is_computed(fill, target):
    made = ctc_lab.made(target.split(), 24, fill, seed=3)
    np.testing.assert_allclose(made.probabilities.sum(axis=1), 1)
    assert [made.names[label] for label in made.target] == target.split()
    assert np.isfinite(made.lattice().loss) and (made.probabilities > 0).all()
    if fill != "even":
        shown = replace(made, probabilities=np.round(made.probabilities, 3))
        np.testing.assert_allclose(shown.probabilities, made.probabilities, atol=1e-12)
        assert shown.lattice().loss == pytest.approx(made.lattice().loss, abs=1e-9)


@pytest.mark.parametrize("fill", ["follow", "peaks"])
def test_what_follows_the_target_collapses_to_it(fill):
    for target in ("A", "A B", "A A B", "B B B", "A B A"):
        found = ctc_lab.made(target.split(), 12, fill)
        assert greedy(found.log_probabilities) == list(found.target)


def test_cutting_a_clip_down_to_a_target_changes_neither_loss_nor_gradient():
    names = ("∅", "A", "B", "C", "D", "E")
    whole = ctc.log_softmax(np.random.default_rng(0).normal(0, 2, (15, 6)))
    for target in (["D", "A", "A"], [], ["E"]):
        labels = [names.index(label) for label in target]
        small = ctc_lab.of_clip(whole, names, target)
        one, other = ctc.lattice(whole, labels), small.lattice()
        assert other.loss == pytest.approx(one.loss)
        for column, name in enumerate(small.names[:-1]):
            np.testing.assert_allclose(other.gradient[:, column], one.gradient[:, names.index(name)], atol=1e-12)
        rest = [place for place, name in enumerate(names) if name not in small.names]
        np.testing.assert_allclose(other.gradient[:, -1], one.gradient[:, rest].sum(axis=1), atol=1e-12)
    with pytest.raises(ValueError, match="does not know X"):
        ctc_lab.of_clip(whole, names, ["X"])
    with pytest.raises(ValueError, match="does not know ∅"):
        ctc_lab.of_clip(whole, names, ["∅"])


def test_the_two_steps_of_collapsing():
    assert ctc_lab.collapsed(list("HH∅OL∅LAA")) == (list("H∅OL∅LA"), list("HOLLA"))
    assert ctc_lab.collapsed([]) == ([], [])


@pytest.mark.parametrize("skip", [True, False])
def test_a_step_leads_to_the_states_whose_sources_it_is(skip):
    found = ctc_lab.made(["A", "B", "B"], 8, "random", seed=1).lattice(skip=skip)
    alpha, beta = np.exp(found.alpha), np.exp(found.beta)
    for t in range(7):
        for s in range(7):
            targets = ctc_lab.targets_of(found, s)
            assert {one - s for one in targets} <= {0, 1, 2} and (2 in {one - s for one in targets}) is (skip and s == 1)
            onward = [beta[t + 1, one] * ctc_lab.emission(found, t + 1, one) for one in targets]
            assert beta[t, s] == pytest.approx(sum(onward))
            sources = [one for one in range(7) if s in ctc_lab.targets_of(found, one)]
            assert alpha[t + 1, s] == pytest.approx(sum(alpha[t, sources]) * ctc_lab.emission(found, t + 1, s))


def test_what_would_not_be_readable_is_refused():
    for target, frames in ((["A"] * 13, 20), (["A"], 41), (["A"], 0)):
        with pytest.raises(ValueError, match="frames can be read here"):
            ctc_lab.made(target, frames, "even")
    with pytest.raises(ValueError, match="name of the lab's own"):
        ctc_lab.made(["∅"], 3, "even")


def test_rounded_rows_add_up():
    rows = np.random.default_rng(3).dirichlet([0.3] * 4, 200)
    rows[0] = [0.0373, 0.9053, 0.0287, 0.0287]  # rounded one by one, they would give 0.037 + 0.905 + 0.029 + 0.029
    shown = ctc_lab.rounded_rows(rows)
    np.testing.assert_allclose(np.abs(shown - rows).max(), 0, atol=1.0000001e-3)
    assert (np.round(shown * 1000).sum(axis=1) == 1000).all()
    np.testing.assert_allclose(shown * 1000, np.round(shown * 1000), atol=1e-9)
