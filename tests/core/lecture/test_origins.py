"""Every cell of every matrix with an origin is what its operands give; its equation, code and test are the index's."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from core.lecture import origins
from core.lecture.origins import ORIGINS, Origin
from pages.learn import lesson_page
from pages.shared.navigation import ROOT
from tests.pages.open_page import open_page

LEARN = ROOT / "pages" / "learn"
VIEWS: list[tuple[str, dict[str, str]]] = [
    *[("attention_steps", {"part": part, "mask": "causal", "t": "2"}) for part in ("project", "scores", "softmax", "sum")],
    ("attention_steps", {"part": "heads", "heads": "2"}),
    ("permutation", {"part": "rows", "places": "true"}),
    ("permutation", {"part": "maps", "causal": "fixed", "heads": "2"}),
    ("backprop", {"part": "linear"}),
    ("backprop", {"part": "linear", "bp_of_linear": "W", "bp_rows": "3"}),
    ("ctc", {"part": "gradient"}),
]


def row_softmax(one: Any, row: Any) -> Any:
    return np.exp(one - row.max()) / np.exp(row - row.max()).sum()


HOW: dict[str, Callable[..., Any]] = {
    "dot": np.dot, "minus": np.subtract, "times": np.multiply, "over": np.divide, "softmax": row_softmax,
    "mask": lambda a, b: a if b else -np.inf,
}  # fmt: skip


def computed(origin: Origin, of: Mapping[str, Any], i: int, j: int) -> float:
    """Cell (i, j) from its operands."""
    places: dict[str, Any] = {"i": i, "j": j, ":": slice(None)}
    picked = (of[one.key][places[one.at[0]], places[one.at[1]]] if one.at else of[one.key][0, 0] for one in origin.operands)
    return float(HOW[origin.how](*picked))


def test_every_cell_is_what_its_operands_give(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[str] = set()

    def check(key: str, matrix: Any) -> str:
        if (origin := origins.origin_of(key)) is not None and matrix.of:
            for i, j in np.ndindex(*matrix.values.shape):
                found = computed(origin, matrix.of, i, j)
                np.testing.assert_allclose(found, matrix.values[i, j], rtol=1e-9, atol=1e-12, err_msg=key)
            told = json.loads(follow(key, matrix))
            assert told["equation"] == origin.entry.latex and told["code"].count(", ") + 1 == len(origin.entry.code)
            seen.add(next(name for name, one in ORIGINS.items() if one is origin))
        return ""

    follow = lesson_page.follow
    monkeypatch.setattr(lesson_page, "follow", check)
    for page, query in VIEWS:
        open_page(LEARN / f"{page}.py", lang="en", **query)
    assert seen == set(ORIGINS)


def test_the_page_writes_every_way() -> None:
    script = (ROOT / "assets" / "scripts" / "matrix.js").read_text(encoding="utf-8")
    ways = script.partition("const WAYS = {")[2].partition("};")[0]
    assert {line.strip().partition(":")[0] for line in ways.strip().splitlines()} == set(HOW)
    assert {one.how for one in ORIGINS.values()} <= set(HOW)
