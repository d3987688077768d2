"""Claims about norms, against means and standard deviations in plain numpy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from core.lecture import norms
from core.lecture.claims import norms as claims
from tests.core.lecture.claims.walk import Walk, states


def test_who_knows_which_sample_was_high() -> None:
    walk = Walk(claims.norms)
    kept: dict[tuple[str, float], float] = {}
    for state in states(norm=["layer", "batch", "instance", "bin", "none"], level=[3.0, 0.0, 10.0]):
        x = norms.example_batch(level=state["level"]).numpy()

        def standard(axes: tuple[int, ...], x: Any = x) -> Any:
            return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)

        batch, instance = standard((0, 1)), standard((1,))
        y = {"layer": standard((2,)), "batch": batch, "instance": instance, "bin": (batch + instance) / 2, "none": x}[
            state["norm"]
        ]
        before, after = (float(np.ptp([sample.mean() for sample in one])) for one in (x, y))
        kept[state["norm"], state["level"]] = after
        truth = {"kept": {"before": before, "after": after}} if after >= 1e-3 else {"forgotten": {"before": before}}
        walk.check(norms.normalise_example(state["norm"], level=state["level"]), truth, state)
    walk.end()
    assert all(value < 1e-3 for (norm, _level), value in kept.items() if norm in ("layer", "instance"))
    assert all(math.isclose(kept["bin", level], kept["batch", level] / 2, abs_tol=1e-6) for level in (3.0, 0.0, 10.0))


def test_where_the_plain_softmax_ends() -> None:
    walk, stable = Walk(claims.softmax), []
    for shift in range(121):
        top = shift + 2
        scores, safe, plain = norms.softmax_pair(float(shift))
        truth = {"overflow" if math.exp(top) > float(np.finfo(np.float32).max) else "fits": {"top": top}}
        walk.check((scores, plain), truth, shift)
        stable.append(safe)
    walk.end()
    assert all((one == stable[0]).all() for one in stable), "the stable form does not move"


def test_dropout_and_depth() -> None:
    dropped, deep = Walk(claims.dropout), Walk(claims.depth)
    for state in states(rate=[0.3, 0.0, 0.9], draw=[1, 20]):
        rate = state["rate"]
        kept = torch.rand(400, 64, generator=torch.Generator().manual_seed(state["draw"]), dtype=torch.float64).numpy() < 1 - rate
        means = kept.sum(axis=1) / 64 / (1 - rate)
        spread = math.sqrt(float(((means - means.mean()) ** 2).mean()))
        truth = {"spread": {"draws": 400, "mean": float(means.mean()), "spread": spread}}
        dropped.check(norms.dropout_example(rate, seed=state["draw"]), truth, state)
    post_mean, pre_mean = (np.median(norms.last_gradients(pre_norm=which), axis=0) for which in (False, True))  # of any kind
    study = {
        "few": 2, "many": 16, "draws": 10, "post_first": post_mean[0], "post_last": post_mean[4], "pre_first": pre_mean[0],
        "pre_last": pre_mean[4], "ratio": post_mean[4] / pre_mean[4], "root": 4.0,
    }  # fmt: skip
    for state in states(layers=[8, 2, 16], seed=[1, 10]):
        post, pre = (norms.new_stack(state["layers"], pre_norm=which, seed=state["seed"]) for which in (False, True))
        sizes = {"post": float(post.activations[state["layers"]]), "pre": float(pre.activations[state["layers"]])}
        deep.check((post, pre, (post_mean, pre_mean)), {"activations": sizes, "gradients": study}, state)
        assert abs(sizes["post"] - 1) < 0.01 < sizes["pre"] - 1, "each post-norm rescales, nothing does so in the pre-norm stack"
    dropped.end()
    deep.end()
