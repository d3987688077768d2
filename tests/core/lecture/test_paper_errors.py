"""The ten findings, each computed in another way; the tools lead to pages and dials that there are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby, product

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from core.lecture import attention_steps, paper_errors, tokens
from core.lecture.breaks import BREAKS
from core.lecture.equations import decisions
from core.lecture.paper_errors import CASES, WORDS, finding
from core.models.tlob import BTC, TLOB
from pages.shared.language import LANGUAGES, prose, sections, speaking
from pages.shared.navigation import ENTRIES, ROOT
from tests.pages.open_page import open_page, words


def values(code: str) -> dict[str, float]:
    return dict(finding(code).values)


def test_exponent() -> None:
    found, places = values("exponent"), np.arange(64)[:, None]
    waves, still = [], []
    for times in (1, 2):
        slow = 10_000 ** (-times * np.arange(0, 32, 2) / 32)
        both = np.concatenate([np.sin(places * slow), np.cos(places * slow)], axis=1)
        waves.append(2 * math.pi / slow[-1])
        still.append(int((np.ptp(both, axis=0) < 0.01 * np.ptp(both)).sum()))
    assert (found["wave"], found["listed"]) == pytest.approx(waves, rel=1e-9)
    assert (found["few"], found["many"]) == tuple(still)


def test_norms() -> None:
    assert values("root")["kept"] == pytest.approx(1, abs=1e-4) and values("root")["halved"] == pytest.approx(0.5, abs=1e-4)
    x = [torch.randn(8, 32, generator=torch.Generator().manual_seed(0), dtype=torch.float64)] * 2
    mix = torch.randn(32, 32, generator=torch.Generator().manual_seed(1), dtype=torch.float64) / 32**0.5
    for _layer in range(12):
        x = [F.layer_norm(x[0] + x[0] @ mix, (32,)), x[1] + F.layer_norm(x[1] @ mix, (32,))]
    sizes = [float(one.pow(2).mean().sqrt()) for one in x]
    assert (values("residual")["post"], values("residual")["other"]) == pytest.approx(sizes, rel=1e-6)


def test_attention() -> None:
    x = torch.tensor(tokens.embed(WORDS, 4))
    q, k, v = (x @ torch.tensor(attention_steps.random_weights(4)[name]) for name in ("W_Q", "W_K", "W_V"))
    scores = q @ k.T / 2
    z = F.scaled_dot_product_attention(q, k, v)
    found = values("invariance")
    assert found["unmoved"] == pytest.approx(float((z.flip(0) - z).abs().max())) and max(found["rows"], found["pool"]) < 1e-12
    padded = F.pad(scores[0], (0, 512 - len(WORDS))).softmax(dim=0)[: len(WORDS)].sum()
    assert values("row_sum")["left"] == pytest.approx(float(padded)) and values("row_sum")["whole"] == pytest.approx(1)
    near = [(i, j) for i, j in product(range(5), repeat=2) if abs(i - j) <= 1]
    assert values("mask")["bad"] == values("mask")["good"] == len(near) and math.isnan(math.inf * 0)


def test_counts() -> None:
    sizes = [sum(one.numel() for one in TLOB(config).parameters()) for config in (BTC, type(BTC)(qkv="single"))]
    assert (values("parameters")["double"], values("parameters")["lean"]) == tuple(sizes)
    assert values("operations")["product"] == pytest.approx(32 * 4 * (128**2 * 40 + 40**2 * 128) / 1e6)
    assert values("operations")["whole"] == pytest.approx(62.1, abs=0.05)


def labelled(frames: int, labels: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every path and the labels that it stands for: repeats are merged, then blanks (0) go."""
    for path in product(range(labels + 1), repeat=frames):
        yield path, tuple(one for one, _same in groupby(path) if one)


def test_ctc() -> None:
    paths = [path for path, said in labelled(4, 2) if said == (1, 2)]
    parted = [path for path in paths if 0 in path[path.index(1) : path.index(2)]]
    assert (values("skipped")["whole"], values("skipped")["without"]) == (len(paths), len(parted))
    assert values("frames")["paths"] == sum(said == (1, 1, 1) for _path, said in labelled(3, 1)) == 0
    assert values("frames")["needed"] == next(t for t in range(1, 8) if any(said == (1, 1, 1) for _path, said in labelled(t, 1)))


def test_tools_lead_somewhere_and_every_case_has_its_notes() -> None:
    assert len(CASES) == len({one.code for one in CASES}) == 10
    files = {entry.url: ROOT / entry.file for entry in ENTRIES}
    broken = {(one.url, one.code): one.parts for one in BREAKS}
    for case in CASES:
        assert case.decision in decisions()
        for tool in case.tools:
            source = files[tool.url].read_text(encoding="utf-8")
            for key, value in tool.query.items():
                if key == "break":
                    assert tool.query["part"] in broken[tool.url, value]
                else:
                    assert key == "part" or f'"{key}"' in source, (case.code, key)
                    assert f'"{value}"' in source or value == "true" or value.startswith("tlob"), (case.code, value)
        for language in LANGUAGES:
            with speaking(language):
                assert f"notes_{case.code}" in sections(prose("learn_paper_errors"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_finding_waits_behind_the_tools(language: str) -> None:
    page = open_page(ROOT / "pages" / "learn" / "paper_errors.py", lang=language, case="skipped")
    assert "15" in words(page) and "11.7" in words(page)
    assert page.expander[0].label in ("The finding", "El hallazgo")
    assert not page.expander[0].proto.expanded
    assert paper_errors.finding("skipped") is paper_errors.finding("skipped")
