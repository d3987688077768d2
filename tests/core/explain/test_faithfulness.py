"""Deletion curves against closed forms, orders that are known, and files that go there and back."""

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from core.explain import faithfulness
from core.explain.faithfulness import RANDOM, Curves, ExplainedInput, FindingError, counts_of, deletion_curves, mean_of, verdicts

WEIGHT = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)


def linear(importance: dict[str, NDArray[np.float64]]) -> ExplainedInput:
    """Of 0.4 a + 0.3 b + 0.2 c + 0.1 d at ones, against zeros."""
    ones = torch.ones(4, dtype=torch.float64)
    return ExplainedInput(
        function=lambda x: x @ WEIGHT, inputs=ones, baseline=torch.zeros_like(ones), parts=torch.arange(4), importance=importance
    )


def test_the_curve_of_a_sum_is_what_is_left_of_it() -> None:
    found = deletion_curves(linear({"true": WEIGHT.numpy()}), points=5)
    np.testing.assert_allclose(found.shares, [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(found.answers["true"], [1, 0.6, 0.3, 0.1, 0], atol=1e-12)
    assert found.area("true") == pytest.approx(0.25 * (0.5 + 0.6 + 0.3 + 0.1))


def test_no_order_beats_the_true_one_and_its_reverse_is_the_worst() -> None:
    rng = np.random.default_rng(0)
    methods = {str(i): rng.random(4) for i in range(30)} | {"true": WEIGHT.numpy(), "false": -WEIGHT.numpy()}
    found = deletion_curves(linear(methods), points=5, draws=200)
    areas = {name: found.area(name) for name in methods}
    assert areas["true"] == pytest.approx(min(areas.values()))
    assert areas["false"] == pytest.approx(max(areas.values()))
    np.testing.assert_allclose(found.answers["false"], [1, 0.9, 0.7, 0.4, 0], atol=1e-12)
    # By chance every part goes first as often as any other: what is left falls evenly.
    np.testing.assert_allclose(found.answers[RANDOM], np.linspace(1, 0, 5), atol=0.03)


@pytest.mark.parametrize("parts", [1, 3, 16, 17, 49, 128])
def test_a_curve_begins_with_nothing_and_ends_with_everything(parts: int) -> None:
    counts = counts_of(parts, np.linspace(0, 1, 17))
    assert counts[0] == 0
    assert counts[-1] == parts
    assert (np.diff(counts) >= 0).all()


def test_a_method_must_speak_of_every_part() -> None:
    for wrong in (np.ones(3), np.array([1, 2, np.nan, 3])):
        with pytest.raises(ValueError, match="must give a number for each of 4 parts"):
            deletion_curves(linear({"short": wrong}))


def curves(height: float, chance: float = 0.5) -> Curves:
    return Curves(shares=np.linspace(0, 1, 3), answers={"a": np.full(3, height), RANDOM: np.full(3, chance)})


def test_verdicts_by_hand() -> None:
    one = verdicts([curves(0.2), curves(0.6), curves(0.1)])["a"]
    assert one.area == pytest.approx(0.3)
    assert one.gain == pytest.approx(0.2)
    assert one.error == pytest.approx(np.std([0.3, -0.1, 0.4], ddof=1) / 3**0.5)
    assert one.better == pytest.approx(2 / 3)


def test_the_mean_is_of_like_curves() -> None:
    whole = mean_of([curves(0.2), curves(0.6)])
    np.testing.assert_allclose(whole.answers["a"], 0.4)
    other = Curves(shares=np.linspace(0, 1, 5), answers={})
    for wrong in ([], [curves(0.2), other]):
        with pytest.raises(ValueError, match="mean needs"):
            mean_of(wrong)


def test_findings_there_and_back(tmp_path: Path) -> None:
    sample = [curves(0.2), curves(0.6)]
    faithfulness.write("one", "abc", "python -m core faithful one", sample, folder=tmp_path)
    back = faithfulness.read("one", folder=tmp_path)
    assert back is not None
    assert (back.checkpoint, back.weights_sha256, back.samples, back.chance) == ("one", "abc", 2, 0.5)
    np.testing.assert_allclose(back.curves.answers["a"], mean_of(sample).answers["a"])
    assert back.verdicts["a"].gain == pytest.approx(verdicts(sample)["a"].gain)
    assert back.best == max(back.verdicts, key=lambda method: back.verdicts[method].gain)
    assert {faithfulness.read(f"iiga_{name}").best for name in ("hands", "digits", "asl")} == {"gradients"}  # docs/results.md
    np.testing.assert_array_equal(back.curves.shares, sample[0].shares)


def test_no_findings_are_none_and_damaged_ones_say_so(tmp_path: Path) -> None:
    assert faithfulness.read("one", folder=tmp_path) is None
    for wrong in ("", "[]", '{"checkpoint": "one"}'):
        faithfulness.path_of("one", folder=tmp_path).write_text(wrong)
        with pytest.raises(FindingError, match="faithful one"):
            faithfulness.read("one", folder=tmp_path)
