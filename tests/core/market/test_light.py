"""Light on a running market: beside the whole integral, and how often it is computed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from core.explain import attribution
from core.market.calibration import MOVING
from core.market.features import MID, price_columns
from core.market.light import LightKeeper, WindowLight, eight_gradients, window_light
from core.market.predictor import Predictor, load_predictor
from core.market.store.index import recordings
from core.market.store.rows import read_market


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return load_predictor("tlob")


def windows(count: int) -> Iterator[np.ndarray]:
    rows = read_market([recordings()[0].path])
    for end in np.linspace(400, len(rows.levels) - 1, count).astype(int):
        yield rows.levels[end - 128 : end]


def test_quadrature_is_exact_where_the_gradient_is_a_polynomial() -> None:
    """Eight nodes of Gauss and Legendre integrate polynomials up to degree 15 exactly."""
    torch.manual_seed(0)
    inputs = torch.randn(5, 3, dtype=torch.float64)
    values = eight_gradients(lambda x: (x**6).sum(dim=(1, 2)), inputs)
    still = inputs.mean(dim=0, keepdim=True).expand_as(inputs)
    np.testing.assert_allclose(values, (inputs**6 - still**6).numpy(), rtol=1e-4, atol=1e-5)


def test_eight_points_say_nearly_what_the_whole_integral_says(predictor: Predictor) -> None:
    entry = predictor.market(recordings()[0].name)
    for levels in windows(4):
        light = window_light(predictor, entry, levels, head=0, label=2, timestamp=1)
        inputs, rule = predictor.inputs(levels[None], entry)[0], entry.rules[0]
        function = attribution.class_probability(
            predictor.model, label=light.label, output=0, temperature=rule.temperature, offsets=rule.bias * MOVING
        )
        whole = attribution.integrated_gradients(function, inputs, attribution.tlob_baseline(inputs)).values
        assert np.corrcoef(light.moments, whole.sum(axis=1))[0, 1] > 0.9
        places = np.array(price_columns(predictor.transform))
        values = eight_gradients(function, inputs)
        assert light.counted.sum() == pytest.approx(values[:, places != MID].sum(), abs=1e-4)
        stood = Counter[float]()  # by price, what stood there at each moment
        for moment, row in enumerate(levels):
            for column in (4 * level + side for side in (0, 2) for level in range(10)):
                stood[float(row[column])] += float(values[moment, places == column].sum())
        assert light.prices.tolist() == sorted(stood)
        assert light.counted == pytest.approx([stood[price] for price in light.prices.tolist()], abs=1e-5)


def test_a_browser_gets_shares_of_the_largest() -> None:
    light = WindowLight(
        head=2,
        label=0,
        timestamp=7,
        moments=np.array([0.1, -0.4], np.float32),
        prices=np.array([9.5, 10.0, 10.5]),
        counted=np.array([0.01, 0.0, -0.02]),
    )
    message = light.message()
    assert message["moments"] == [250, -1000] and (message["prices"], message["counted"]) == ([9.5, 10.5], [500, -1000])
    assert (message["head"], message["label"], message["time"]) == (2, 0, 7)
    assert message["most"] == pytest.approx(0.4) and message["whole"] == pytest.approx(0.5)


class Session:
    """Counts how often it is asked; one computation takes `cost` seconds of the clock."""

    def __init__(self, clock: list[float], cost: float) -> None:
        self.clock, self.cost, self.asked, self.whole = clock, cost, 0, True

    def light(self, head: int) -> WindowLight | None:
        self.asked += 1
        self.clock[0] += self.cost
        moments = np.full(2, self.asked, dtype=np.float32)
        one = WindowLight(head=head, label=1, timestamp=self.asked, moments=moments, prices=moments, counted=moments)
        return one if self.whole else None


def test_it_is_computed_once_for_all_and_takes_a_tenth_of_a_core_at_most() -> None:
    clock = [0.0]
    keeper, session = LightKeeper(clock=lambda: clock[0]), Session(clock, cost=0.2)

    async def watch() -> None:
        for _ in range(100):  # ten seconds of three viewers, two of one head
            await keeper.newest(session, 0)
            await keeper.newest(session, 0)
            await keeper.newest(session, 1)
            clock[0] += 0.1

    asyncio.run(watch())
    assert session.asked * session.cost <= 0.1 * clock[0] + session.cost
    assert session.asked >= 4


def test_no_light_without_a_whole_window() -> None:
    clock = [0.0]
    keeper, session = LightKeeper(clock=lambda: clock[0]), Session(clock, cost=0.01)
    assert asyncio.run(keeper.newest(session, 0)) is not None
    session.whole, clock[0] = False, 5.0
    assert asyncio.run(keeper.newest(session, 0)) is None
    clock[0] = 5.5
    assert asyncio.run(keeper.newest(session, 0)) is None  # the one before the gap is not shown again
