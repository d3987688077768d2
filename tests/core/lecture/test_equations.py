"""The index of equations holds: every place, test and page that it names is there, and no section is missing."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from core.lecture.equations import DOCUMENTS, LANGUAGES, Equation, equations, search
from core.lecture.matrices import operation
from core.models.iiga import FrameEncoder, IIGAConfig
from core.models.mobilenet import MobileNetV2
from core.signs.ctc import log_softmax
from pages.shared.navigation import ENTRIES

ROOT = Path(__file__).resolve().parents[3]
PAGES = {entry.url: entry.file for entry in ENTRIES}


def numbered(chapter: int, last: int, first: int = 1) -> list[str]:
    return [f"{chapter}.{section}" for section in range(first, last + 1)]


SECTIONS: dict[str, list[str]] = {
    "tlob-architecture": ["1.1", "1.2", *numbered(2, 4), *numbered(3, 5), *numbered(4, 2), *numbered(5, 3), *numbered(6, 3)],
    "vit-report": [*numbered(1, 8), *numbered(2, 9), *numbered(3, 7), *numbered(4, 5), "5.1", "6", "7.2"],
    "iiga-equations": [
        "2.1", *numbered(3, 6), *numbered(4, 3), *numbered(5, 7), *numbered(6, 4), "7.1", *numbered(8, 3), *numbered(9, 3),
        *numbered(10, 2), *numbered(11, 8), *numbered(12, 4), *numbered(13, 2), *numbered(14, 3), "15", *numbered(16, 3),
    ],
    "sequence-modelling": [
        "RNN", "LSTM", "LSTM memory", "Scaled dot-product attention", "Single and multi-head attention", "General architecture",
    ],
    "attention-notebook": [
        "Embedding", "Positional encoding", "Self-attention", "Permutation matrix", "1. Projections", "2. Attention scores",
        "Property of the softmax", "3. Output", "Layer normalization", "Masked attention",
    ],
}  # fmt: skip
"""Sections that hold formulas, shapes or listings of formulas; vit-report 4 by the numbers of its own subheadings."""


@cache
def functions(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def ids(entry: Equation) -> str:
    return entry.id


@pytest.mark.parametrize("entry", equations(), ids=ids)
def test_what_an_entry_names_is_there(entry: Equation) -> None:
    for place in entry.code:
        name, _, path = place.partition(":")
        found: object = importlib.import_module(name)
        for step in path.split("."):
            assert hasattr(found, step), f"{entry.id}: {name} has no {path}"
            found = getattr(found, step)
    file, _, function = entry.test.partition("::")
    assert function in functions(file), f"{entry.id}: no {function} in {file}"
    assert entry.page in PAGES, f"{entry.id}: no page {entry.page}"
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / PAGES[entry.page]).parent.glob("*.py"))
    for key, value in entry.query.items():
        assert f'"{key}"' in source, f"{entry.id}: no parameter {key} on {entry.page}"
        known = re.search(rf'"{value}":|\["{value}"\]|[Pp]art\(\s*"{value}"', source) is not None
        assert known or value.isdigit() or value == "true", f"{entry.id}: no {key}={value}"


@pytest.mark.parametrize("entry", equations(), ids=ids)
def test_an_entry_is_whole_in_both_languages(entry: Equation) -> None:
    assert entry.document in DOCUMENTS and entry.latex.strip() and entry.code
    assert entry.latex.count("{") - entry.latex.count(r"\{") == entry.latex.count("}") - entry.latex.count(r"\}")
    assert len(re.findall(r"\\left(?![a-z])", entry.latex)) == len(re.findall(r"\\right(?![a-z])", entry.latex))
    for text in (entry.title, entry.against, *([entry.why] if entry.why else [])):
        assert tuple(text) == LANGUAGES and all(one.strip() for one in text.values())
    assert all(re.fullmatch(r"D\d+a?", decision) for decision in entry.decisions)


def test_every_section_with_formulas_is_covered_and_no_other_is_named() -> None:
    assert tuple(SECTIONS) == DOCUMENTS
    for document, sections in SECTIONS.items():
        named = {section for entry in equations() if entry.document == document for section in entry.section.split("; ")}
        assert named == set(sections), f"{document}: {named ^ set(sections)}"


@pytest.mark.timeout(600)
def test_each_named_test_executes_every_code_place_of_its_entry(tmp_path: Path) -> None:
    """In another process, by following the calls of every named test."""
    file, tests = tmp_path / "places.json", sorted({entry.test for entry in equations()})
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.core.lecture.executed_places"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [*run, "--executed-places", str(file), *tests], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    executed: dict[str, list[str]] = json.loads(file.read_text(encoding="utf-8"))
    missed = {entry.id: places for entry in equations() if (places := set(entry.code) - set(executed[entry.test]))}
    assert not missed, f"the named test never runs these places: {missed}"
    masks = executed["tests/core/nn/test_masks.py::test_causal"]
    assert masks == ["core.nn.masks:causal_mask"]  # and does not simply name them all


def test_ids_are_unique() -> None:
    assert len({entry.id for entry in equations()}) == len(equations()) > 120


def test_search_finds_words_in_both_languages_documents_and_decisions() -> None:
    assert [entry.id for entry in search("doubled exponent")] == [entry.id for entry in search("exponente duplicado listado")]
    assert search("ATENCION") and search("sinusoidal_encoding") and not search("no such equation")
    assert {entry.document for entry in search("vit-report")} == {"vit-report"}
    ctc = search("D17 iiga-equations")
    assert ctc and all("D17" in entry.decisions for entry in ctc)


def test_links_carry_the_language() -> None:
    entry = search("doubled exponent")[0]
    assert (
        entry.link() == "positions?part=matrix&doubled=true"
        and entry.link(lang="es") == "positions?part=matrix&doubled=true&lang=es"
    )


# Equations of the index whose own check is here


def test_frames_are_encoded_one_by_one() -> None:
    config = IIGAConfig(vocabulary=3, width=16, heads=2, image_size=32, width_multiplier=0.35, image_channels=24)
    front = FrameEncoder(config).eval()
    frames = torch.rand(2, 3, 32, 32, 3)
    found = front(frames, torch.ones(2, 3, dtype=torch.bool))
    colours = torch.tensor([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])  # ImageNet's mean and spread, by channel
    for b, t in np.ndindex(2, 3):
        picture = ((frames[b, t] - colours[0]) / colours[1]).permute(2, 0, 1)
        wanted = F.linear(front.cnn(picture[None])[0], front.project.weight, front.project.bias)
        torch.testing.assert_close(found[b, t], wanted, atol=1e-5, rtol=1e-4)


def test_convolution_norm_activation_and_pooling() -> None:
    """The first and the last layer of MobileNetV2, and the mean over places, in torch.nn.functional and NumPy."""
    model = MobileNetV2(width_multiplier=0.35, last_channels=16).eval()
    x = torch.randn(2, 3, 32, 32)
    with torch.no_grad():
        before = model.features[:-1](x)
        for layer, inputs, stride in ((model.features[0], x, 2), (model.features[-1], before, 1)):
            convolution, norm = layer[0], layer[1]
            y = F.conv2d(inputs, convolution.weight, stride=stride, padding=convolution.weight.shape[-1] // 2)
            normed = F.batch_norm(y, norm.running_mean, norm.running_var, norm.weight, norm.bias)
            torch.testing.assert_close(layer(inputs), normed.clamp(0, 6))
        last = model.features(x).numpy()
        rows, columns = last.shape[2:]
        mean = sum(last[:, :, row, column] for row in range(rows) for column in range(columns)) / (rows * columns)
        torch.testing.assert_close(model(x), torch.as_tensor(mean))


def test_posteriors_of_a_frame_are_torchs() -> None:
    logits = np.random.default_rng(0).normal(scale=30, size=(5, 9))
    np.testing.assert_allclose(log_softmax(logits), torch.as_tensor(logits).log_softmax(dim=-1).numpy(), atol=1e-12)


def test_random_matrices_have_their_moments() -> None:
    """The report's uniform_random, normal_random and randomize, by the functions that stand for them."""
    generator = torch.Generator().manual_seed(0)
    for name, arguments, mean, spread in (
        ("uniform_random", (200, 100), 0.5, 12**-0.5),
        ("normal_random", (200, 100), 0.0, 1.0),
        ("randomize", (torch.empty(200, 100), -0.3, 0.3), 0.0, 0.6 * 12**-0.5),
    ):
        drawn = operation(name)(*arguments, generator=generator)
        assert float(drawn.mean()) == pytest.approx(mean, abs=0.03) and float(drawn.std()) == pytest.approx(spread, rel=0.03)
