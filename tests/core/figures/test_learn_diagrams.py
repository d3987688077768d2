"""The lecture's block diagrams: their numbers against independent calculations, their drawing, the parts they open."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from core import messages
from core.figures.ctc import ctc_diagram
from core.figures.learn.attention_steps import attention_diagram, permutation_diagram
from core.figures.learn.backprop import backprop_diagram
from core.figures.learn.cost import cost_diagram
from core.figures.learn.diagrams.blocks import Block, Diagram, Wire
from core.figures.learn.diagrams.drawing import Look, block_width, describe, label_width, svg
from core.figures.learn.norms import norms_diagram
from core.figures.learn.optimisers import optimiser_diagram, step_notes
from core.figures.learn.positions import positions_diagram
from core.figures.learn.recurrent import gradient_diagram, lstm_diagram, rnn_diagram
from core.figures.learn.transformer import transformer_diagram
from core.figures.metrics import metrics_diagram
from core.lecture import attention_steps, backprop, cost_growth, optimisers, permutation, positions, recurrence, tokens
from core.models.transformer import TransformerConfig
from core.signs import ctc, ctc_lab
from pages.shared.language import catalogue

LEARN = Path(__file__).resolve().parents[3] / "pages" / "learn"
WORDS = ["the", "cat", "sat", "on", "the", "mat"]
X = tokens.embed(WORDS, 4)
WEIGHTS = attention_steps.random_weights(4)
WAVE = recurrence.wave(40, period=12.0)
RNN, LSTM = recurrence.random_rnn(1), recurrence.random_lstm(1)
STEPS = attention_steps.steps(X, WEIGHTS, temperature=0.5)


def two(value: float) -> str:
    return f"{value + 0.0:.2f}"


def general(value: float) -> str:
    return f"{value:.3g}"


def attention() -> Diagram:
    return attention_diagram(STEPS, head=0, query=1, key=0, write=two)


def rnn() -> Diagram:
    run = recurrence.run_rnn(WAVE, RNN)
    terms = recurrence.rnn_terms(WAVE, run, RNN, step=9, unit=2)
    return rnn_diagram(WAVE, run, terms, step=9, unit=2, write=two)


def lstm() -> Diagram:
    return lstm_diagram(WAVE, recurrence.run_lstm(WAVE, LSTM), step=9, unit=2, write=two)


def adam() -> Diagram:
    step = optimisers.adam_step("bowl", "adam", 7, rate=optimisers.constant(0.03))
    return optimiser_diagram(step_notes(step, two), t=step.t, rate="η = 0.03")


def encoding() -> Diagram:
    entry = positions.entry(5, 2, 32)
    read = {"pos": 5, "pair": 2, "scale": 0.1, "shift": 3, "other": (2, 12.5)}
    return positions_diagram(entry, shape="64×32", write=two, learned=False, read=read)


def labels() -> Diagram:
    problem = ctc_lab.made(["A", "B"], 6, "follow")
    return ctc_diagram(problem.lattice(), problem.names, paths="70", read="α(2, 1) = 0.1", write=general)


def dates() -> Diagram:
    answer = list("1979-05-03■")
    return transformer_diagram(
        TransformerConfig(vocabulary=47), text="3 de mayo de 1979", characters=answer[:6], probability=0.99, looked=0.61,
        parameters="383,087", write=two,
    )  # fmt: skip


def shuffled() -> Diagram:
    order = [5, 2, 3, 1, 0, 4]
    return permutation_diagram(
        permutation.shuffle(X, WEIGHTS, order), order, heads=1, write=two, size=lambda value: f"{value:.1e}"
    )


def gradients() -> Diagram:
    return gradient_diagram(recurrence.gradients_through_time(WAVE, RNN, LSTM), lambda value: f"{value:.2g}")


def layer_cost() -> Diagram:
    return cost_diagram(
        cost_growth.layer(128, 40, 1), amount=lambda value: f"{value / 1e6:.2f} M", size=lambda value: f"{value} B"
    )


def sentences() -> Diagram:
    written = {"edits": "3", "matches": "9", "common": "5", "WER": "42.9 %", "orders": "4", "BLEU": "0.0 %", "ROUGE-L": "71.4 %"}
    return metrics_diagram(words=("7", "7"), table=(8, 8), written=written)


def chain() -> Diagram:
    return backprop_diagram("layer_norm", backprop.example("layer_norm"), "gamma", write=two)


DIAGRAMS = {
    "attention_steps": [attention()], "recurrent": [rnn(), lstm(), gradients()], "permutation": [shuffled()],
    "positions": [encoding()], "norms": [norms_diagram({"norms": ("3.41", "0.87")}, {"norms": "InstanceNorm"})],
    "optimisers": [adam()],
    "backprop": [chain()], "cost": [layer_cost()], "transformer": [dates()],
    "ctc": [labels()], "metrics": [sentences()],
}  # fmt: skip
EVERY = [(page, one) for page, found in DIAGRAMS.items() for one in found]
ALL = pytest.mark.parametrize(("page", "diagram"), EVERY, ids=[f"{page}-{one.title}" for page, one in EVERY])


def label(diagram: Diagram, source: str, target: str) -> str:
    return next(one.label for one in diagram.wires if (one.source, one.target) == (source, target))


def parts_of(page: str) -> set[str]:
    """Codes of the parts that a page offers, from its source."""
    tree = ast.parse((LEARN / f"{page}.py").read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func).lower() == "part"]
    dicts = [node.value for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "parts"]
    firsts = [*(call.args[0] for call in calls), *(key for one in dicts if isinstance(one, ast.Dict) for key in one.keys)]
    return {one.value for one in firsts if isinstance(one, ast.Constant) and isinstance(one.value, str)}


# -- numbers ------------------------------------------------------------------------------------------------------------------


def test_attentions_wires_have_the_weights_of_torch() -> None:
    q, k = torch.tensor(X @ WEIGHTS["W_Q"]), torch.tensor(X @ WEIGHTS["W_K"])
    scores = q @ k.T / (0.5 * 2)
    assert label(attention(), "weights", "z") == f"A_{{2,1}} = {two(float(scores.softmax(-1)[1, 0]))}"
    assert label(attention(), "scores", "weights") == f"S_{{2,1}} = {two(float(scores[1, 0]))}".replace("-", "−")


def test_the_lstms_wires_have_the_numbers_of_torchs_cell() -> None:
    cell = torch.nn.LSTMCell(1, 6).double()
    with torch.no_grad():
        for name, stack in (("weight_ih", "W"), ("weight_hh", "U"), ("bias_ih", "b")):  # torch's order: i, f, g, o
            cell.get_parameter(name).copy_(torch.tensor(np.concatenate([LSTM[f"{stack}_{gate}"] for gate in "ifco"])))
        cell.bias_hh.zero_()
        state = (torch.zeros(1, 6).double(), torch.zeros(1, 6).double())
        for step in range(10):
            before = state
            state = cell(torch.tensor(WAVE[step])[None], state)
    drawn = lstm()
    assert label(drawn, "cell", "keep") == two(float(before[1][0, 2]))
    assert label(drawn, "sum", "c") == two(float(state[1][0, 2]))
    assert label(drawn, "out", "h") == two(float(state[0][0, 2]))


def test_the_optimisers_wires_have_the_numbers_of_torchs_adam() -> None:
    theta = torch.nn.Parameter(torch.tensor([-4.0, 1.5], dtype=torch.float64))
    optimiser = torch.optim.Adam([theta], lr=0.03)
    for _step in range(7):
        before = theta.detach().clone()
        optimiser.zero_grad()
        (0.5 * (theta[0] ** 2 + 20 * theta[1] ** 2)).backward()
        optimiser.step()
    drawn = adam()
    assert drawn.block("theta").note.split() == [two(float(one)).replace("-", "−") for one in before]
    assert drawn.block("next").note.split() == [two(float(one)).replace("-", "−") for one in theta.detach()]


def test_positions_wires_have_the_sine_and_cosine() -> None:
    angle = 5 / 10_000 ** (4 / 32)
    assert label(encoding(), "omega", "waves") == f"pos·ω_i = {two(angle)}"
    assert label(encoding(), "waves", "pe").split() == [two(math.sin(angle)), two(math.cos(angle))]


def test_ctcs_wires_have_the_loss_of_torch() -> None:
    problem = ctc_lab.made(["A", "B"], 6, "follow")
    loss = torch.nn.functional.ctc_loss(
        torch.tensor(np.log(problem.probabilities))[:, None], torch.tensor([list(problem.target)]), torch.tensor([6]),
        torch.tensor([2]), reduction="sum",
    )  # fmt: skip
    assert label(labels(), "loss", "gradient") == f"−ln P(y) = {general(float(loss))}"
    assert label(labels(), "paths", "loss") == f"P(y) = {general(math.exp(-float(loss)))}"
    assert ctc.count_paths(problem.target, 6) == 70


# -- drawing ------------------------------------------------------------------------------------------------------------------


@ALL
def test_a_drawing_is_sound(page: str, diagram: Diagram) -> None:
    codes = {block.code for block in diagram.blocks}
    assert len(codes) == len(diagram.blocks) and {end for one in diagram.wires for end in (one.source, one.target)} <= codes
    look = Look(names={}, link=lambda code: f"?part={code}&x=1")
    for narrow in (False, True):
        root = ElementTree.fromstring(svg(diagram, look, narrow=narrow))
        assert root[0].tag.endswith("desc") and root[0].text == describe(diagram)
        width = float((root.get("viewBox") or "").split()[2])
        scale = (358 if narrow else 840) / width  # the narrowest place in which each is shown (assets/styles/diagram.css)
        sizes = [float(one.get("font-size") or "") for one in root.iter() if one.get("font-size")]
        assert min(sizes) * scale >= (11 if narrow else 10)  # pixels
        for block in diagram.blocks:
            room = block_width(diagram, narrow=narrow)
            assert block.kind == "sum" or label_width(block.label, 13) <= room + 12, f"{block.label} in {room}"


@ALL
def test_a_block_opens_a_part_that_the_page_has(page: str, diagram: Diagram) -> None:
    if page in ("ctc", "metrics"):  # its blocks lead to places of the page
        assert diagram.parts == set()
        files = sorted((LEARN.parent / "signs").glob(f"{page}*.py"))
        source = "".join(path.read_text(encoding="utf-8") for path in files)
        for block in diagram.blocks:
            assert not block.part or f'"{block.part[1:].removesuffix("_csv")}"' in source, block.part
        return
    assert diagram.parts and diagram.parts <= parts_of(page)


def test_the_labels_fit_in_spanish_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "_translator", catalogue("es").gettext)
    for build in (attention, rnn, lstm, gradients, shuffled, encoding, adam, chain, layer_cost, dates, labels, sentences):
        diagram = build()
        assert diagram.title.startswith("Diagrama de bloques")
        for narrow in (False, True):
            room = block_width(diagram, narrow=narrow) + 12
            long = [block.label for block in diagram.blocks if block.kind != "sum" and label_width(block.label, 13) > room]
            assert not long, diagram.title


def test_the_part_on_display_is_framed() -> None:
    look = Look(part="sum", names={"sum": "4 · Weighted sum"}, link=lambda code: f"?part={code}")
    root = ElementTree.fromstring(svg(attention(), look, narrow=False))
    groups = {one.get("data-block"): one.get("class", "").split() for one in root.iter() if one.get("data-block")}
    assert {code for code, names in groups.items() if "diagram-here" in names} == {"z"}


def test_a_label_with_marks_of_xml_is_written_as_it_is() -> None:
    blocks = (Block("a", "<x> & y_1", (0, 0)), Block("b", "b", (1, 0)))
    diagram = Diagram(title="“a”", blocks=blocks, wires=(Wire("a", "b", "1 < 2"),))
    drawn = svg(diagram, Look(names={}, link=str), narrow=False)
    texts = ["".join(one.itertext()) for one in ElementTree.fromstring(drawn).iter() if one.tag.endswith("text")]
    assert texts == ["<x> & y1", "b", "1 < 2"] and not re.search(r"<script", drawn)
