"""Written optimisers against `torch.optim`, clipping, schedules and initialisation against PyTorch's own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from core.lecture import initialisation, optimisers
from core.lecture.optimisers import SURFACES, Adam, OptimiserName

THEIRS: dict[OptimiserName, tuple[Any, dict[str, Any]]] = {
    "sgd": (torch.optim.SGD, {}),
    "adam": (torch.optim.Adam, {}),
    "adamw": (torch.optim.AdamW, {"weight_decay": 0.1}),
}

LOSSES: dict[str, Callable[..., Any]] = {
    "bowl": lambda x, y: 0.5 * (x**2 + 20 * y**2),
    "rosenbrock": lambda x, y: (1 - x) ** 2 + 100 * (y - x**2) ** 2,
    "saddle": lambda x, y: x**2 - y**2 + y**4 / 4,
}


@pytest.mark.parametrize("name", THEIRS)
@pytest.mark.parametrize("surface", SURFACES)
def test_a_walk_is_pytorchs(name: OptimiserName, surface: optimisers.SurfaceName) -> None:
    mine = optimisers.surface_walks(SURFACES[surface], steps=60, rate=1e-3, clip=2.0, decay=0.1)[name]
    kind, arguments = THEIRS[name]
    theta = torch.tensor(SURFACES[surface].start, dtype=torch.float64, requires_grad=True)
    other = kind([theta], lr=1e-3, **arguments)
    for step in range(60):
        loss = LOSSES[surface](*theta)
        other.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([theta], 2.0)
        other.step()
        np.testing.assert_allclose(mine.points[step + 1], theta.detach().numpy(), atol=1e-5)
        assert mine.losses[step] == pytest.approx(float(loss.detach()), rel=1e-4, abs=1e-6)


def test_without_correction_the_first_step_is_longer() -> None:
    g, theta = np.array([0.3]), np.array([0.0])
    plain, corrected = (Adam(corrected=flag).step(theta, g, 1.0) for flag in (False, True))
    assert plain[0] / corrected[0] == pytest.approx(0.1 / np.sqrt(0.001), rel=1e-5)
    assert corrected[0] == pytest.approx(-1, rel=1e-6)


def test_a_walk_that_runs_away_is_stopped() -> None:
    found = optimisers.surface_walks(SURFACES["rosenbrock"], steps=50, rate=0.1)["sgd"]
    assert found.diverged and np.isfinite(found.points).all() and len(found.losses) == len(found.points) < 51


def test_minima_are_minima() -> None:
    for surface in SURFACES.values():
        for minimum in surface.minima:
            at = np.array(minimum)
            np.testing.assert_allclose(surface.gradient(at), 0, atol=1e-6)
            around = at + 1e-3 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
            assert (surface.value(around) > surface.value(at)).all()
        for x, y in (surface.start, *surface.minima):
            assert surface.window[0] < x < surface.window[1] and surface.window[2] < y < surface.window[3]
        x, y, z = optimisers.height_map(surface, points=5)
        assert z[1, 3] == pytest.approx(float(surface.value(np.array([x[3], y[1]]))))


def test_clipping_is_pytorchs() -> None:
    for length in (0.5, 50.0):
        g = np.array([3.0, 4.0]) * length
        theta = torch.zeros(2, dtype=torch.float64, requires_grad=True)
        theta.grad = torch.tensor(g)
        torch.nn.utils.clip_grad_norm_([theta], 10.0)
        np.testing.assert_allclose(optimisers.clip_by_norm(g, 10.0), theta.grad.numpy(), rtol=1e-6)
    assert not optimisers.clip_by_norm(np.zeros(2), 1.0).any()
    with pytest.raises(ValueError, match="must be above 0"):
        optimisers.clip_by_norm(np.ones(2), 0.0)


def test_the_story_tells_the_walk() -> None:
    for name in ("adam", "adam_plain", "adamw"):
        walk = optimisers.surface_walks(SURFACES["saddle"], steps=7, rate=0.05, decay=0.3, clip=0.5)[name]
        told = optimisers.adam_step("saddle", name, 7, rate=0.05, decay=0.3, clip=0.5)
        assert told.norm == pytest.approx(np.linalg.norm(SURFACES["saddle"].gradient(walk.points[6])))
        assert np.linalg.norm(told.g) == pytest.approx(min(0.5, told.norm))
        np.testing.assert_allclose(told.before, walk.points[6])
        np.testing.assert_allclose(told.after, walk.points[7])
        decay = 0.3 if name == "adamw" else 0.0
        np.testing.assert_allclose(
            told.after, told.before - 0.05 * (told.mc / (np.sqrt(told.vc) + 1e-8) + decay * told.before), atol=1e-12
        )
    rates = optimisers.rates(total=10, peak=1.0, warmup=2, floor=0.2, factor=0.5, every=4)
    assert rates["exponential"].tolist() == [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25]
    assert rates["report"][-1] == pytest.approx(0) and rates["iiga"][-1] == pytest.approx(0.2)
    assert rates["report"][1] == rates["iiga"][1] == 0.5 and rates["cosine"][5] == pytest.approx(0.5)


def test_initialisation_is_pytorchs() -> None:
    weight = torch.empty(300, 500)
    torch.nn.init.xavier_uniform_(weight)
    assert float(weight.abs().max()) == pytest.approx(initialisation.xavier_bound(500, 300), rel=1e-3)
    torch.nn.init.kaiming_normal_(weight, nonlinearity="relu")
    assert float(weight.std()) == pytest.approx(initialisation.he_std(500), rel=0.02)
    generator = torch.Generator().manual_seed(0)
    for scheme in initialisation.SCHEMES:
        drawn = initialisation.initial_weights(scheme, 300, 500, generator)
        assert float(drawn.std()) == pytest.approx(initialisation.weight_std(scheme, 300, 500), rel=0.02)
    assert initialisation.report_qkv_bound(8) == pytest.approx(0.25) and initialisation.report_out_bound(8) == pytest.approx(0.4)
    assert initialisation.report_second_scale(16) == pytest.approx(0.125)


def test_he_keeps_the_signal_through_relus_and_one_that_is_too_large_does_not() -> None:
    he, large = (initialisation.signal(scheme, "relu", width=256)[0] for scheme in ("he", "normal"))
    assert 0.5 < he[-1] / he[1] < 2 and large[-1] > 1e6
    assert initialisation.signal("xavier", "relu")[0][-1] < 0.1
