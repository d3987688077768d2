"""Claims about positions, against sines and cosines in float64."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.lecture import positions
from core.lecture.claims import positions as claims
from tests.core.lecture.claims.walk import Truth, Walk, states

Array = NDArray[np.float64]
SIZES: dict[str, list[int]] = {"n": [64, 8, 256, 93], "d": [32, 4, 8, 128], "base": [10_000, 10, 100, 100_000]}


def formula(n: int, d: int, base: float) -> Array:
    angles = np.arange(n)[:, None] * float(base) ** (-2 * np.arange(d // 2) / d)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(n, d)


def unmoved(matrix: Array) -> int:
    return sum(float(column.max() - column.min()) < 0.01 * float(matrix.max() - matrix.min()) for column in matrix.T)


def rivals(matrix: Array, pos: int) -> Truth:
    """The distance of a position that beats the neighbours, if any does."""
    near, far = -math.inf, (-math.inf, 0)
    for other, row in enumerate(matrix):
        product, away = float(row @ matrix[pos]), abs(other - pos)
        if away == 1:
            near = max(near, product)
        elif away > 1 and product > far[0]:
            far = product, away
    return {"farther": {"far": far[1], "pos": pos}} if far[0] > near + 1e-5 else {}


def test_the_matrix_its_waves_and_its_products() -> None:
    walks = {name: Walk(part) for name, part in (("matrix", claims.matrix), ("waves", claims.waves), ("near", claims.similarity))}
    learned = positions.shipped("tlob").matrix
    for state in states(**SIZES, kind=["formula", "learned"], pos=[5, 0, 255], pair=[2, 0, 63]):
        by_formula = state["kind"] == "formula"
        matrix = formula(state["n"], state["d"], state["base"]) if by_formula else learned
        n, d = matrix.shape
        pos, pair = min(state["pos"], n - 1), min(state["pair"], d // 2 - 1)
        given = positions.encoding(n, d, base=state["base"]) if by_formula else learned
        base = float(state["base"]) if by_formula else None
        still = unmoved(matrix)
        truth: dict[str, dict[str, Any]] = {"still": {"count": still, "all": d, "length": n}} if still else {}
        truth |= {} if still else {"moving": {"all": d, "length": n}}
        clock = {"clock": {"pace": float(state["base"]) ** ((2 - d) / d)}} if by_formula else {}
        walks["matrix"].check((given, base), clock | truth, state)
        wave = 2 * math.pi * state["base"] ** (2 * pair / d)
        shown = {"comes round" if wave <= n - 1 else "too long": {"pair": pair, "wave": wave}}
        first, second = matrix[:-1, 2 * pair], matrix[1:, 2 * pair]
        a, b = first - first.mean(), second - second.mean()
        echo = {"learned": {"channel": 2 * pair, "echo": float(a @ b / math.sqrt((a @ a) * (b @ b)))}}
        walks["waves"].check((given, base, pair), shown if by_formula else echo, state)
        rival = rivals(matrix, pos)
        neighbours = {"neighbours": {"pos": pos}} if by_formula and not rival else {}
        walks["near"].check((given, base, pos), {**neighbours, **rival}, state)
        assert int((matrix @ matrix[pos]).argmax()) == pos, "a position is most like itself"
    for walk in walks.values():
        walk.end()


def test_a_shift_is_a_rotation_or_leaves_most_unexplained() -> None:
    walk, learned = Walk(claims.rotation), positions.shipped("tlob").matrix
    for state in states(**SIZES, k=[3, 1, 128]):
        k = min(state["k"], state["n"] // 2)
        encoded = positions.encoding(state["n"], state["d"], base=state["base"])
        turned = positions.rotation(state["d"], k, base=state["base"])
        exact = formula(state["n"], state["d"], state["base"])
        assert np.abs(exact[:-k] @ turned.T - exact[k:]).max() < 1e-9
        walk.check(positions.apply_shift(encoded, k, turned), {"exact": {}}, state)
    for k in range(1, 65):  # every shift of the dial
        solved = np.linalg.pinv(learned[:-k]) @ learned[k:]
        left = np.linalg.norm(learned[:-k] @ solved - learned[k:]) / np.linalg.norm(learned[k:])
        walk.check(positions.fitted_shift(learned, k), {"unexplained": {}} if left > 0.5 else {}, k)
    walk.end()


def test_size_beside_the_content() -> None:
    walk, rng = Walk(claims.scale), np.random.default_rng(0)
    drawn = positions.random_embeddings(64, 32)
    alike = np.cumsum(rng.normal(size=(128, 40)), axis=0)  # rows near each other are alike already, as a book's are
    for state in states(scale=[0.1, 0.0, 0.05, 0.5, 2.0], content=["drawn", "alike"]):
        content = drawn if state["content"] == "drawn" else alike
        places = state["scale"] * formula(*content.shape, 10_000)

        def gap(rows: Array) -> float:
            unit = rows / np.sqrt((rows**2).sum(axis=1, keepdims=True))
            half = len(rows) // 2
            near = [float(one @ other) for one, other in pairwise(unit)]
            far = [float(one @ other) for one, other in zip(unit, unit[half:], strict=False)]
            return sum(near) / len(near) - sum(far) / len(far)

        before, after = gap(content), gap(content + places)
        ratio = float(np.linalg.norm(places) / np.linalg.norm(content))
        truth: dict[str, dict[str, Any]] = {"larger": {"ratio": ratio}} if ratio >= 1 else {}
        truth |= {"band": {"before": before, "after": after}} if after - before > 0.05 else {"none": {}}
        shown = positions.encoding(*content.shape, scale=state["scale"])
        both = positions.balance(content, 0 * shown), positions.balance(content, shown)
        walk.check(both, truth, state)
    walk.end()


def test_the_listing_squares_the_base() -> None:
    walk = Walk(claims.listing)
    for state in states(**SIZES):
        n, d, base = state["n"], state["d"], state["base"]
        listed = positions.encoding(n, d, base=base, doubled_exponent=True)
        assert np.abs(listed - formula(n, d, base**2)).max() < 1e-4
        walk.check((float(base),), {"base squared": {"squared": base**2, "base": base}}, state)
    walk.end()
