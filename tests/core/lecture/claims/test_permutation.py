"""Claims about order and permutation, against attention written out in numpy for each state."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.lecture import attention_steps, permutation, tokens
from core.lecture.claims import permutation as claims
from tests.core.lecture.claims.walk import Walk, states

Array = NDArray[np.float64]
STATES = list(
    states(
        order=["random", "first", "reverse", "twins"],
        causal=["none", "fixed", "permuted"],
        positions=[False, True],
        heads=[1, 4],
        words=["the dog bites the man", "el perro muerde al hombre", "one", "a a"],
        seed=[0, 20],
    )
)


def order_of(how: str, words: list[str]) -> list[int]:
    if how == "random":
        return permutation.random_order(len(words), 1)
    places = list(range(len(words)))
    if how == "twins":  # the words that occur twice change places
        first = next((i for i in places if words[i] in words[i + 1 :]), None)
        if first is not None:
            other = words.index(words[first], first + 1)
            places[first], places[other] = other, first
        return places
    return places[::-1] if how == "reverse" else places


def attend(x: Array, weights: dict[str, Array], heads: int, allowed: Array) -> tuple[Array, Array]:
    """Z and the maps (heads, T, T), by loops."""
    width = x.shape[1] // heads
    z, maps = np.zeros_like(x), np.zeros((heads, len(x), len(x)))
    for head in range(heads):
        own = slice(head * width, (head + 1) * width)
        for i in range(len(x)):
            scores = {j: float((x[i] @ weights["W_Q"])[own] @ (x[j] @ weights["W_K"])[own]) / width**0.5
                      for j in range(len(x)) if allowed[i, j]}  # fmt: skip
            total = sum(np.exp(score) for score in scores.values())
            for j, score in scores.items():
                maps[head, i, j] = np.exp(score) / total
                z[i, own] += maps[head, i, j] * (x[j] @ weights["W_V"])[own]
    return z, maps


def deviations(state: dict[str, Any]) -> tuple[list[int], Array, Array, Array]:
    """The order, Z' - PZ, A' - PAP^T and the difference of the means."""
    words = state["words"].split()
    x, weights = tokens.embed(words, 4, seed=state["seed"]), attention_steps.random_weights(4, seed=state["seed"])
    order = order_of(state["order"], words)
    pos, pair = np.arange(len(words))[:, None], np.arange(2)[None, :]
    angles = pos / 10_000 ** (pair / 2)
    places = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(words), 4) * state["positions"]
    allowed = np.tri(len(words)) if state["causal"] != "none" else np.ones((len(words),) * 2)
    moved = allowed[order][:, order] if state["causal"] == "permuted" else allowed
    z, maps = attend(x + places, weights, state["heads"], allowed)
    z_after, maps_after = attend(x[order] + places, weights, state["heads"], moved)
    return order, z_after - z[order], maps_after - maps[:, order][:, :, order], z_after.mean(axis=0) - z.mean(axis=0)


def shuffled(state: dict[str, Any]) -> permutation.Shuffle:
    words = state["words"].split()
    return permutation.shuffle(
        tokens.embed(words, 4, seed=state["seed"]),
        attention_steps.random_weights(4, seed=state["seed"]),
        order_of(state["order"], words),
        heads=state["heads"], positions=state["positions"], causal=state["causal"],
    )  # fmt: skip


def test_rows_maps_and_means() -> None:
    rows, maps, pool = (Walk(part) for part in (claims.rows, claims.maps, claims.pool))
    for state in STATES:
        order, off, off_maps, off_mean = deviations(state)
        found, near = shuffled(state), 1e-10
        first: dict[str, dict[str, Any]] = {"in order": {}} if order == sorted(order) else {}
        broken = np.abs(off).max() > near
        why: dict[str, dict[str, Any]] = {"positions": {}} if state["positions"] and broken else {}
        why |= {"mask": {}} if state["causal"] == "fixed" and broken else {}
        other = {"count": int((np.abs(off).max(axis=1) > near).sum()), "all": len(order), "most": np.abs(off).max()}
        rows.check(found, first | ({"other": other} if broken else {"equal": {}}) | why, state)
        most = np.abs(off_maps).max()
        maps.check(found, first | ({"other": {"most": most}} if most > near else {"equal": {}}) | why, state)
        most = np.abs(off_mean).max()
        pool.check(found, first | ({"other": {"most": most}} if most > near else {"equal": {}}) | why, state)
    for walk in (rows, maps, pool):
        walk.end()


def test_the_table() -> None:
    walk = Walk(claims.table)
    for state in [one for one in STATES if one["causal"] == "none" and not one["positions"]]:
        order, *_off = deviations(state)

        def broken(state: dict[str, Any] = state, **setting: Any) -> str:
            _order, off, _maps, mean = deviations(state | setting)
            names = {(False, False): "nothing", (True, False): "equivariance alone", (True, True): "both properties"}
            return names[bool(np.abs(off).max() > 1e-10), bool(np.abs(mean).max() > 1e-10)]

        truth: dict[str, dict[str, Any]] = {"along": {}}
        if order == sorted(order):
            truth["in order"] = {}
        else:
            truth["broken"] = {"positions": broken(positions=True), "mask": broken(causal="fixed")}
        words = state["words"].split()
        x, weights = tokens.embed(words, 4, seed=state["seed"]), attention_steps.random_weights(4, seed=state["seed"])
        walk.check(permutation.compare_settings(x, weights, order, heads=state["heads"]), truth, state)
    walk.end()
