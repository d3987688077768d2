"""Claims of the page on uses, against an attention written out in numpy and masks counted by their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.lecture import attention_steps, tokens, uses
from core.lecture.claims import uses as claims
from tests.core.lecture.claims.walk import Walk, states


def attention(q: Any, k: Any, v: Any) -> tuple[Any, Any, Any]:
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return scores, weights, weights @ v


def changed(one: Any, other: Any, axis: int) -> int:
    return int((~np.isclose(one, other, rtol=0, atol=1e-10)).any(axis=axis).sum())


def test_a_longer_query_key_or_value() -> None:
    walk = Walk(claims.roles)
    x, weights = tokens.embed(["the", "cat", "sat", "on", "the", "mat"], 4), attention_steps.random_weights(4)
    for state in states(role=["v", "k", "q"], word=[1, 0, 5], factor=[2.0, -3.0, 0.0, 1.0, 3.0]):
        role, word, factor = state["role"], state["word"], state["factor"]
        given = {name: x @ weights[f"W_{name.upper()}"] for name in "qkv"}
        longer = {name: values.copy() for name, values in given.items()}
        longer[role][word] *= factor
        (scores, before, mixed), (scores_after, after, mixed_after) = attention(**given), attention(**longer)
        rows, columns = changed(before, after, 1), changed(before, after, 0)
        counts = {"rows": rows, "columns": columns, "outputs": changed(mixed, mixed_after, 1), "all": 6}
        truth: dict[str, dict[str, Any]] = {{"v": "value", "k": "key", "q": "query"}[role]: counts}
        if factor == 1:
            truth = {"once": {}}
            assert counts["rows"] == counts["outputs"] == 0
        elif role == "k":
            assert changed(scores, scores_after, 0) == 1 < columns
        elif role == "q":
            assert changed(scores, scores_after, 1) == rows == 1
        else:
            assert rows == 0 < counts["outputs"]
        study = uses.role_study(x, weights, role=role, word=word, factor=factor)
        (said,) = claims.roles(study, role, factor).values()
        walk.check(
            (study, role, factor), {name: {gap: values[gap] for gap in said.values} for name, values in truth.items()}, state
        )
    walk.end()


def test_who_may_look_at_whom() -> None:
    walk = Walk(claims.families)
    for state in states(family=["bert", "gpt", "t5"], n=[6, 2, 10], m=[5, 2, 10]):
        n, m = state["n"], state["m"]
        pairs = {"encoder": {"all": n * n}, "decoder": {"count": m * (m - 1) // 2, "all": m * m}, "cross": {"all": m * n}}
        has = {"bert": ["encoder"], "gpt": ["decoder"], "t5": ["encoder", "decoder", "cross"]}[state["family"]]
        walk.check(uses.family_masks(state["family"], n, m), {name: pairs[name] for name in has}, state)
    walk.end()
