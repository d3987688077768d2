"""Light on a running market: beside the whole integral, and how often it is computed."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from core.explain import attribution
from core.market.calibration import MOVING
from core.market.features import MID, price_columns
from core.market.light import CELLS, COLUMNS, FEWEST, LightKeeper, MarketLight, NewestWindow, book_parts, eight_gradients
from core.market.predictor import load_predictor
from core.market.reasons import UsualInputs
from core.market.store.index import recordings
from core.market.store.rows import read_market


def test_quadrature_is_exact_where_the_gradient_is_a_polynomial() -> None:
    """Eight nodes of Gauss and Legendre integrate polynomials up to degree 15 exactly."""
    torch.manual_seed(0)
    inputs, mean = torch.randn(2, 5, 3, dtype=torch.float64)
    values = eight_gradients(lambda x: (x**6).sum(dim=(1, 2)), inputs, mean)
    np.testing.assert_allclose(values, (inputs**6 - mean**6).numpy(), rtol=1e-4, atol=1e-5)


def test_eight_points_say_nearly_what_the_whole_integral_says() -> None:
    predictor, rows, head = load_predictor("tlob"), read_market([recordings()[0].path])[:700], 6
    entry, places = predictor.market(recordings()[0].name), np.array(price_columns(predictor.transform))
    usual = UsualInputs(predictor, entry)
    usual.follow(rows.timestamps, rows.levels)
    mean = usual.mean()
    assert mean is not None
    parts = book_parts(predictor, entry, rows.levels[-128:], mean, head=head)
    inputs, rule = predictor.inputs(rows.levels[None, -128:], entry)[0], entry.rules[head]
    up, down = (
        attribution.class_probability(
            predictor.model, label=label, output=head, temperature=rule.temperature, offsets=rule.bias * MOVING
        )
        for label in (2, 0)
    )
    whole = attribution.integrated_gradients(lambda x: up(x) - down(x), inputs, mean)
    assert abs(eight_gradients(lambda x: up(x) - down(x), inputs, mean).sum() - whole.difference) < 0.05
    columns = [4 * level + side for side in (0, 2) for level in range(10)]
    values = np.stack([whole.values[:, (places == column) & (places != MID)].sum(axis=1) for column in columns], axis=1)
    assert np.abs(parts - values).sum() < 0.1 * np.abs(values).sum()


def test_cells_are_what_counts_beyond_its_mean_over_the_windows_before() -> None:
    predictor, rows, head = load_predictor("tlob"), read_market([recordings()[0].path]), 6
    entry = predictor.market(recordings()[0].name)
    market, usual, sizes = MarketLight(predictor, entry), UsualInputs(predictor, entry), []
    for end in range(700, 700 + 8 * (FEWEST + 1), 8):
        kept = rows.timestamps[:end], rows.levels[:end]
        newest = NewestWindow(
            predictor=predictor, entry=entry, head=head, timestamps=kept[0], levels=kept[1], recalibrate=lambda p: p
        )
        light = market.explain(newest)
        usual.follow(*kept)
        mean = usual.mean()
        assert light is not None and mean is not None
        parts = book_parts(predictor, entry, newest.window, mean, head=head)
        sizes.append(np.abs(parts))
        assert len(sizes) > FEWEST or not len(light.values)
    assert light is not None
    beyond = np.sign(parts) * np.maximum(sizes[-1] - np.mean(sizes[:-1], axis=0), 0)
    strongest = sorted(np.abs(beyond).ravel())[-CELLS]
    drawn = zip(light.ages.tolist(), light.prices.tolist(), light.values.tolist(), strict=True)
    stood = newest.window[:, COLUMNS]
    expected = [
        (127 - row, stood[row, place], pytest.approx(beyond[row, place], rel=1e-3))
        for row, place in zip(*np.nonzero(np.abs(beyond) >= strongest), strict=True)
    ]
    assert sorted(drawn) == sorted(expected, key=lambda cell: cell[:2])
    told = json.loads(light.message)["light"]
    assert max(map(abs, told["cells"][2])) == 1000 and len(told["cells"][0]) == CELLS
    assert told["gives"] == pytest.approx(light.reasons.gives) and told["time"] == newest.timestamps[-1]


class CountingKeeper(LightKeeper):
    """Explains nothing, and notes when it would; one computation takes `lasts` seconds, of which the processor works `work`."""

    def __init__(self, lasts: float, work: float) -> None:
        self.now, self.lasts, self.work, self.whole = 0.0, lasts, work, True
        self.began: list[tuple[int, float]] = []
        super().__init__(clock=lambda: self.now)

    def _explain(self, session: object, head: int) -> Any:
        self.began.append((head, self.now))
        self.now += self.lasts
        return object() if self.whole else None, self.work


class Session:
    """Stands for one that is watched."""


@pytest.mark.parametrize(
    ("lasts", "work", "heads", "every"),
    [
        (0.05, 0.05, 1, 1.65),  # the next is there after 1.7 s
        (0.8, 0.1, 1, 1.0),  # once a second
        (0.7, 0.7, 1, 2.8),  # a quarter of a core
        (0.1, 0.1, 3, 1.6),  # each of three stays fresh
        (0.1, 0.1, 8, 3.2),  # a quarter of a core for all eight
    ],
)
async def test_it_is_computed_once_for_all_and_no_oftener_than_keeps_it_fresh(
    lasts: float, work: float, heads: int, every: float
) -> None:
    keeper, session = CountingKeeper(lasts, work), Session()
    while keeper.now < 30:
        for viewer in range(3 * heads):  # three of each head, and the one that waits longest is asked for first
            waits = sorted(range(heads), key=lambda head: max((at for one, at in keeper.began if one == head), default=0))
            await keeper.newest(session, waits[viewer // 3])
        keeper.now += 0.01
    for head in range(heads):
        assert np.diff([at for one, at in keeper.began if one == head])[1:] == pytest.approx(every, abs=0.1)


def test_a_window_that_stands_still_is_explained_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a playback that is paused: the profile of an hour counts no window twice."""
    now, explained = [0.0], list[int]()

    class Held:
        """The newest rows of a session that is paused, but for one step."""

        last = 250

        def newest_window(self, head: int) -> Any:
            return SimpleNamespace(head=head, timestamps=np.array([self.last]), predictor=None, entry=None)

    def explain(_market: MarketLight, newest: Any) -> Any:
        explained.append(int(newest.timestamps[-1]))
        return SimpleNamespace(timestamp=explained[-1])

    monkeypatch.setattr(MarketLight, "__init__", lambda *_: None)
    monkeypatch.setattr(MarketLight, "explain", explain)
    keeper, session, lights = LightKeeper(clock=lambda: now[0]), Held(), list[Any]()
    for _ in range(6):
        now[0] += 10
        session.last = 500 if now[0] > 30 else 250
        lights.append(asyncio.run(keeper.newest(session, 0)))
    assert explained == [250, 500]
    assert lights[0] is lights[2] and lights[3] is lights[5] is not lights[0]


def test_no_light_without_a_whole_window() -> None:
    keeper, session = CountingKeeper(lasts=0.01, work=0.01), Session()
    assert asyncio.run(keeper.newest(session, 0)) is not None
    keeper.whole, keeper.now = False, 5.0
    assert asyncio.run(keeper.newest(session, 0)) is None
    keeper.now = 5.5
    assert asyncio.run(keeper.newest(session, 0)) is None  # the one before the gap is not shown again
