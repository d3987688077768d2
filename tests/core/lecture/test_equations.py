"""The index of equations holds: every place, test and page that it names is there, and no section is missing."""

import ast
import importlib
import re
from collections.abc import Iterator
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
from core.nn import causal_mask
from pages.shared.navigation import ENTRIES
from tests.core.lecture.executed_places import executed_places

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


def is_there(place: str) -> bool:
    """Whether a module has what a place names: module:path."""
    name, _, path = place.partition(":")
    found: object = importlib.import_module(name)
    for step in path.split("."):
        found = getattr(found, step, None)
    return found is not None


def missing(entry: Equation) -> Iterator[str]:
    """What an entry names and is not there."""
    yield from (place for place in entry.code if not is_there(place))
    file, _, function = entry.test.partition("::")
    if function not in functions(file):
        yield entry.test
    if entry.page not in PAGES:
        yield f"the page {entry.page}"
        return
    source = sources(PAGES[entry.page])
    for key, value in entry.query.items():
        written = re.search(rf'"{value}":|\["{value}"\]|[Pp]art\(\s*"{value}"', source) is not None
        named = f'"{key}"' in source or f'key=f"{key.partition("_")[0]}_{{' in source  # one of a family of dials
        if not named or not (written or value.isdigit() or value in ("true", entry.id)):
            yield f"{key}={value} on {entry.page}"


@cache
def sources(file: str) -> str:
    """The text of a page and of what lies beside it."""
    return "".join(path.read_text(encoding="utf-8") for path in (ROOT / file).parent.glob("*.py"))


def test_what_an_entry_names_is_there() -> None:
    assert {entry.id: found for entry in equations() if (found := [*missing(entry)])} == {}


def is_whole(entry: Equation) -> bool:
    """Whether its formula is closed, and its words are there in both languages."""
    tex, texts = entry.latex, (entry.title, entry.against, *([entry.why] if entry.why else []))
    braces = [len(re.findall(rf"(?<!\\){brace}", tex)) for brace in (r"\{", r"\}")]
    fences = [len(re.findall(rf"\\{fence}(?![a-z])", tex)) for fence in ("left", "right")]
    return (
        entry.document in DOCUMENTS
        and bool(tex.strip() and entry.code)
        and braces[0] == braces[1]
        and fences[0] == fences[1]
        and all(tuple(text) == LANGUAGES and all(one.strip() for one in text.values()) for text in texts)
        and all(re.fullmatch(r"D\d+a?", decision) for decision in entry.decisions)
    )


def test_an_entry_is_whole_in_both_languages() -> None:
    assert [entry.id for entry in equations() if not is_whole(entry)] == []


def test_every_section_with_formulas_is_covered_and_no_other_is_named() -> None:
    assert tuple(SECTIONS) == DOCUMENTS
    for document, sections in SECTIONS.items():
        named = {section for entry in equations() if entry.document == document for section in entry.section.split("; ")}
        assert named == set(sections), f"{document}: {named ^ set(sections)}"


def test_what_is_executed_is_told_apart() -> None:
    """That each named test executes its code places is held where it runs: `tests/core/conftest.py`."""
    with executed_places().followed(frozenset()) as executed:
        causal_mask(3)
    assert executed == {"core.nn.masks:causal_mask"}


def test_ids_are_unique() -> None:
    assert len({entry.id for entry in equations()}) == len(equations()) > 120


def test_search_finds_words_in_both_languages_documents_and_decisions() -> None:
    assert [entry.id for entry in search("doubled exponent")] == [entry.id for entry in search("exponente duplicado listado")]
    assert search("ATENCION") and search("sinusoidal_encoding") and not search("no such equation")
    assert {entry.document for entry in search("vit-report")} == {"vit-report"}
    ctc = search("D17 iiga-equations")
    assert ctc and all("D17" in entry.decisions for entry in ctc)


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
