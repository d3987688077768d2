"""Claims of the page on trained attention, against rows of the three models' weights raised to powers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from core.lecture import three_models
from core.lecture.claims import trained_text as claims
from tests.core.lecture.claims.walk import Walk, states


def test_three_models_from_the_coldest_to_the_warmest() -> None:
    walk, looks = Walk(claims.three), three_models.looks()
    for state in states(tau=[1.0, 0.001, 0.02, 0.5, 20.0, 1000.0], last=[True, False], head=[1, 4]):
        tau, rows, spreads = state["tau"], [], []
        for look in looks:
            heads = look.heads[int(state["last"])]
            one = heads[min(state["head"], len(heads)) - 1]
            scores = one.k @ one.q[look.query] / one.q.shape[1] ** 0.5 / tau
            rows.append(np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum())
            spreads.append(three_models.spread(look, one.at(tau)[look.query]))
        wide = [float(np.exp(stats.entropy(row))) for row in rows]
        shares = [many / len(row) for many, row in zip(wide, rows, strict=True)]
        entropies = [float(stats.entropy(row, base=len(row))) for row in rows]  # 1 for even weights
        low, high = int(np.argmin(entropies)), int(np.argmax(entropies))
        truth: dict[str, dict[str, Any]]
        if all(row.max() > 0.99 for row in rows):
            truth = {"one": {"share": 100 * min(row.max() for row in rows)}}
        elif min(shares) > 0.99:
            truth = {"even": {"share": 100 * min(shares)}}
        else:
            truth = {"compared": {"few": wide[low], "many": wide[high], "of_low": len(rows[low]), "of_high": len(rows[high]),
                                  "least": 100 * entropies[low], "greatest": 100 * entropies[high]}}  # fmt: skip
            assert claims.three(spreads)["compared"].values["low"] == claims.NAMES[looks[low].thing]
            assert claims.three(spreads)["compared"].values["high"] == claims.NAMES[looks[high].thing]
        walk.check((spreads,), truth, state)
    walk.end()
