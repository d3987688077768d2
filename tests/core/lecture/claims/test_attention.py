"""Claims about one query of attention, against a softmax in plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from core.lecture import attention_steps, roles, tokens
from core.lecture.claims import attention as claims
from tests.core.lecture.claims.walk import Walk, states

STATES = list(
    states(
        words=["the cat sat on the mat", "a a a", "uno dos tres uno dos", "solo"],
        mask=["none", "causal", "window", "padding", "causal_padding"],
        temperature=[1.0, 0.05, 50.0],
        query=[0, 99],
        heads=[1, 4],
        head=[0, 99],
        window=[1, 0, 11],
        kept=[4, 1, 12],
        seed=[0, 20],
    )
)


def limit(scores: list[float], temperature: float) -> float:
    """Entropy of a softmax at a temperature, nats."""
    top = max(scores)
    powers = [math.exp((one - top) / temperature) for one in scores]
    shares = [one / sum(powers) for one in powers]
    return -sum(one * math.log(one) for one in shares if one > 0)


def may_look(state: dict[str, Any], i: int, j: int, count: int) -> bool:
    kept = min(state["kept"], count)
    return {
        "none": True,
        "causal": j <= i,
        "window": abs(i - j) <= state["window"],
        "padding": j < kept,
        "causal_padding": j <= i and j < kept,
    }[state["mask"]]


def test_every_claim_about_attention() -> None:
    walks = {part: Walk(claims.CLAIMS[part]) for part in claims.CLAIMS}
    for state in STATES:
        words, heads = state["words"].split(), state["heads"]
        count, names = len(words), tokens.unique_names(words)
        query, head, width = min(state["query"], count - 1), min(state["head"], heads - 1), 4 // heads
        x, weights = tokens.embed(words, 4, seed=state["seed"]), attention_steps.random_weights(4, seed=state["seed"])
        mask = attention_steps.build_mask(state["mask"], count, window=state["window"], kept=min(state["kept"], count))
        steps = attention_steps.steps(x, weights, heads=heads, mask=mask, temperature=state["temperature"])
        reading = claims.Reading(steps=steps, names=names, head=head, query=query)

        own = slice(head * width, (head + 1) * width)
        q, keys = (x[query] @ weights["W_Q"])[own], (x @ weights["W_K"])[:, own]
        allowed = [j for j in range(count) if may_look(state, query, j, count)]
        raw = {j: sum(float(a) * float(b) for a, b in zip(q, keys[j], strict=True)) for j in allowed}
        ties = [j for j in allowed if abs(raw[j] - max(raw.values())) < 1e-9]
        forbidden = sum(not may_look(state, i, j, count) for i in range(count) for j in range(count))
        masked = {"masked": {"count": forbidden, "all": count * count}} if forbidden else {}
        twice = [[j for j in range(count) if words[j] == word] for word in dict.fromkeys(words)]
        twins = "; ".join(", ".join(names[j] for j in group) for group in twice if len(group) > 1)

        assert np.isclose(math.log(len(ties)), limit(list(raw.values()), 1e-7), atol=1e-6), "the limit of falling temperatures"
        assert np.isclose(math.log(len(allowed)), limit(list(raw.values()), 1e7), atol=1e-6)
        even = {"count": len(allowed), "even": math.log(len(allowed)), "query": names[query]}
        if len(allowed) == 1:
            sharp: dict[str, dict[str, Any]] = {"one key": {"query": names[query]}}
        elif len(ties) == len(allowed):
            sharp = {"all alike": even}
        elif len(ties) == 1:
            sharp = {"one winner": even | {"key": names[ties[0]]}}
        else:
            keyed = ", ".join(names[j] for j in ties)
            sharp = {"several winners": even | {"keys": keyed, "ties": len(ties), "low": math.log(len(ties))}}
        walks["scores"].check(reading, ({"equal keys": {"names": twins}} if twins else {}) | masked, state)
        walks["softmax"].check(reading, sharp | masked, state)
        several = {"several": {"count": heads, "width": width}}
        walks["heads"].check(reading, several if heads > 1 else {"one": {}}, state)
    for walk in walks.values():
        walk.end()


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
        study = roles.role_study(x, weights, role=role, word=word, factor=factor)
        (said,) = claims.roles(study, role, factor).values()
        walk.check(
            (study, role, factor), {name: {gap: values[gap] for gap in said.values} for name, values in truth.items()}, state
        )
    walk.end()
