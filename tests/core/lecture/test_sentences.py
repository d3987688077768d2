"""Sentences of the lecture that say something of their figure, held against the figure's numbers."""

from itertools import product
from typing import get_args

import numpy as np
import pytest

from core.lecture import (
    attention_steps,
    decoding,
    optimisers,
    permutation,
    positions,
    recurrence,
    tokens,
)
from core.lecture.date_reader import DateReader
from core.signs import ctc_lab, metrics
from pages.shared.language import prose_section

FORGET_BIAS = 2.0


def drawn_lstm(seed: int = 0) -> recurrence.Weights:
    """With the page's bias."""
    weights = recurrence.random_lstm(1, seed=seed)
    return weights | {"b_f": weights["b_f"] + FORGET_BIAS}


def passage(page: str, section: str) -> str:
    return prose_section(f"learn_{page}", section)


def rms(x: object) -> float:
    return float(np.sqrt(np.square(np.asarray(x, dtype=np.float64)).mean()))


def test_what_a_sublayer_adds_beside_what_it_is_added_to() -> None:
    reader = DateReader()
    reading = reader.read("3 de mayo de 1979")
    stages = decoding.inside_layer(reader.model, reading.trace, "encoder", 2, 0)
    ratios = decoding.sublayer_ratios(stages)
    assert set(ratios) == {("O", "input"), ("F", "N1")}
    assert ratios["O", "input"] == pytest.approx(rms(stages["O"]) / rms(stages["input"]), rel=1e-5)
    assert ratios["F", "N1"] == pytest.approx(rms(stages["F"]) / rms(stages["N1"]), rel=1e-5)
    assert set(decoding.sublayer_ratios(decoding.inside_layer(reader.model, reading.trace, "decoder", 1, 0))) == {
        ("O1", "input"), ("O2", "N1"), ("F", "N2"),
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(21))
def test_the_lstm_reaches_further_back_than_the_rnn(seed: int) -> None:
    x = recurrence.wave(40, period=12.0)
    back = recurrence.gradients_through_time(x, recurrence.random_rnn(1, seed=seed), drawn_lstm(seed), seed=seed)
    assert back.lstm[0] > 50 * back.rnn[0] and back.steps_remembered("lstm") > 2 * back.steps_remembered("rnn")
    assert back.steps_remembered("attention") == len(x)


def test_how_gradients_fall_at_the_pages_opening() -> None:
    x = recurrence.wave(40, period=12.0)
    back = recurrence.gradients_through_time(x, recurrence.random_rnn(1), drawn_lstm())
    fall = np.diff(np.log10(back.rnn))
    assert np.log10(back.rnn[-1] / back.rnn[0]) > 8 and fall.max() > 0.5 and fall.min() < 0, "no straight line"
    decades = np.log10([back.lstm[-1] / back.lstm[0], back.forget[-1] / back.forget[0]])
    assert decades[0] < 1.3 * decades[1]
    gates = recurrence.run_lstm(x, drawn_lstm()).f
    assert gates.mean() == pytest.approx(0.9, abs=0.05)
    plain = recurrence.cell_gradients(x, recurrence.random_lstm(1))
    assert np.log10(plain[-1] / plain[0]) > 8
    half = len(x) // 2
    assert 0.5 < back.attention[:half].mean() / back.attention[half:-1].mean() < 2


def test_an_early_input_fades_at_the_pages_opening_and_may_grow_with_the_factor() -> None:
    x, rnn, lstm = recurrence.wave(40, period=12.0), recurrence.random_rnn(1), recurrence.random_lstm(1)
    left = {factor: recurrence.left_of_first(x, rnn | {"W_hh": factor * rnn["W_hh"]}, lstm)[0] for factor in (0.0, 1.0, 2.0)}
    assert not left[0.0][1:].any() and left[1.0][-1] < 1e-4 and left[2.0][-1] > 2 * left[2.0][10] > 0.5
    said = passage("recurrent", "rnn")
    assert "as the page opens, an early input fades" in said and "may stay, or grow" in said


def test_the_listing_has_longer_waves_and_no_fewer_still_channels() -> None:
    gained = set()
    for length, width, base in product((8, 64, 256), (4, 32, 128), (10.0, 10_000.0, 100_000.0)):
        plain, doubled = (positions.encoding(length, width, base=base, doubled_exponent=one) for one in (False, True))
        gained.add(np.sign(positions.still_channels(doubled) - positions.still_channels(plain)))
        waves = [positions.wavelengths(width, base=one) for one in (base, base**2)]
        assert waves[0][0] == waves[1][0] and (waves[0][1:] < waves[1][1:]).all()
    assert gained == {0, 1}
    assert "all but the first are longer and no fewer channels stand still" in passage("positions", "matrix")


def test_where_rows_only_change_places_each_weight_goes_with_its_words() -> None:
    """Also where no word moves, whatever the mask and the positions, and where two equal words change places."""
    x, weights = tokens.embed(["a", "b", "a"], 4, seed=1), attention_steps.random_weights(4, seed=1)
    orders = ([0, 1, 2], [2, 1, 0], [1, 2, 0])
    for order, mask, places in product(orders, get_args(permutation.Causal), (False, True)):
        found = permutation.shuffle(x, weights, order, causal=mask, positions=places)
        moved = found.before.weights[:, order][:, :, order]
        assert np.allclose(found.after.weights, moved) or not found.equivariant, (order, mask, places)
        assert found.equivariant or (order != orders[0] and (places or mask == "fixed")), (order, mask, places)
    assert "in the row and column in which its two words now stand" in passage("permutation", "maps")
    assert "the shuffle may change the rows themselves" in passage("permutation", "pool")


def test_without_the_skip_the_loss_is_never_lower_and_sometimes_the_same() -> None:
    gained = set()
    for target, fill in product((["A"], ["A", "A"], ["A", "B"], ["A", "B", "B", "A"], []), get_args(ctc_lab.Fill)):
        problem = ctc_lab.made(target, 9, fill)
        skip, plain = (problem.lattice(skip=one) for one in (True, False))
        gained.add(np.sign(round(plain.loss - skip.loss, 12)))
        for lattice in (skip, plain):
            np.testing.assert_allclose(lattice.posteriors.sum(axis=1), 1)
    assert gained == {0, 1}
    assert "the loss is never lower" in passage("ctc", "document")


@pytest.mark.parametrize(("order", "score"), [(1, 75.0), (2, 50.0), (3, 0.0), (4, 0.0)])
def test_bleu_is_zero_without_a_match_of_the_longest_n_grams(order: int, score: float) -> None:
    found = metrics.bleu([["A", "B", "X", "C"]], [["A", "B", "Y", "C"]], order=order)
    assert found.score == pytest.approx(score)  # a pair matches of three, no triple and no four
    assert "without a single match among the longest n-grams it is 0" in passage("metrics", "bleu")


def test_adamw_arrives_sooner_in_the_bowl_and_beside_the_minimum_elsewhere() -> None:
    for name, surface in optimisers.SURFACES.items():
        ends = {
            which: optimisers.surface_walks(surface, steps=400, rate=0.03, decay=0.1)[which].points[-1]
            for which in ("adam", "adamw")
        }
        off = {which: min(np.linalg.norm(end - one) for one in np.array(surface.minima)) for which, end in ends.items()}
        assert np.linalg.norm(ends["adamw"]) < np.linalg.norm(ends["adam"]), "the pull towards the origin"
        if name == "bowl":
            assert off["adamw"] < off["adam"] / 10
        elif name != "rosenbrock":  # whose valley takes Adam more than 400 steps
            assert off["adamw"] > 1e-3 > 1e-6 > off["adam"]
