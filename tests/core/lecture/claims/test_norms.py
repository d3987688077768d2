"""Claims about norms, against means and standard deviations in plain numpy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from core.lecture import initialisation, norms
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


APPLY = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "gelu": lambda x: x * torch.special.ndtr(torch.tensor(x)).numpy(),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
}


def test_a_signal_through_layers() -> None:
    walk = Walk(claims.init)
    every = states(activation=list(APPLY), scheme=list(initialisation.SCHEMES), layers=[12, 1, 24])
    for state in every:
        generator = torch.Generator().manual_seed(0)
        x = torch.randn(64, 128, generator=generator, dtype=torch.float64).numpy()
        x = np.vstack([x, x[0] + 0.001 / math.sqrt(128)])
        sizes, before = [math.sqrt(float((x[:64] ** 2).mean()))], x
        for _layer in range(state["layers"]):
            weights = initialisation.initial_weights(state["scheme"], 128, 128, generator).numpy()
            before = x @ weights
            x = APPLY[state["activation"]](before)
            sizes.append(math.sqrt(float((x[:64] ** 2).mean())))
        kept, apart = sizes[-1] / sizes[0], math.dist(x[0], x[64])
        name = "fades" if kept < 0.5 else "grows" if kept > 2 else ""
        name = name or ("scattered" if apart > 0.005 else "forgotten" if apart < 0.0002 else "passed on")
        numbers = {"kept": kept} if name in ("fades", "grows") else {"kept": kept, "apart": apart}
        walk.check(initialisation.signal(state["scheme"], state["activation"], layers=state["layers"]), {name: numbers}, state)
        if name == "scattered":
            assert state["activation"] in ("tanh", "sigmoid") and float((np.abs(before) > 3).mean()) > 0.5, "saturated"
        if state["activation"] == "relu" and state["scheme"].startswith("report"):
            assert name == "fades", "the report's scales shrink the signal under ReLU"
    walk.end()
