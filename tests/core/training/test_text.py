"""Training on the app's own prose: what the paragraphs are, what the n-grams say, and what the card holds."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from babel.messages.pofile import read_po
from torch.nn import functional as F

from core import checkpoints
from core.models.decoder_only import DecoderOnly, DecoderOnlyConfig
from core.training import text as prose
from core.training.loop import LoopSettings
from core.training.recipe import TrainingRun
from core.training.text import TextTask, TextTraining, WittenBell, bits_per_character, encode, train, vocabulary

SHAPE = {"width": 16, "heads": 2, "layers": 1, "hidden": 16, "length": 24, "dropout": 0.0}


def test_paragraphs_hold_prose_and_no_markup(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# A heading that is long enough\n\nOne **bold** paragraph with a\n[link](https://x.y) in it.\n\n"
        "| a table | of two columns |\n\n```\ncode = 'that nobody should learn'\n```\n- a first point of some length\n"
        "- a second `point` of some length\n  that goes on\n"
    )
    assert prose.paragraphs([tmp_path / "a.md"]) == [
        "One bold paragraph with a link in it.",
        "a first point of some length",
        "a second point of some length that goes on",
    ]


def test_the_catalogue_is_read_as_babel_reads_it() -> None:
    path = prose.ROOT / prose.CATALOGUE
    with path.open("rb") as file:
        wanted = {
            text
            for message in read_po(file)
            if message.id
            for text in (*np.atleast_1d(message.id), *np.atleast_1d(message.string))
            if text
        }
    found = prose.paragraphs([path])
    plain = {" ".join(prose._without_markup(prose._PLACE.sub("…", str(text))).split()) for text in wanted}
    assert set(found) == {text for text in plain if len(text) >= prose.SHORTEST} and len(found) > 500


def test_a_paragraph_is_in_one_part() -> None:
    texts = [f"paragraph {i}" for i in range(200)]
    parts = prose.split(texts, seed=3)
    assert sorted(itertools.chain(*parts.values())) == sorted(texts)
    assert [len(one) for one in parts.values()] == [160, 20, 20] and parts != prose.split(texts, seed=4)


def test_witten_bell_is_its_formula() -> None:
    """By hand on "abab": after a there were two b, so p(b | a) = (2 + 1 p(b)) / (2 + 1) with p(b) = (2 + 2 / 3) / (4 + 2)."""
    model = WittenBell([[0, 1, 0, 1]], order=2, vocabulary=3)
    p_b = (2 + 2 / 3) / (4 + 2)
    assert model.probability([], 1) == pytest.approx(p_b)
    assert model.probability([0], 1) == pytest.approx((2 + p_b) / 3)
    assert model.bits([0, 1])[1] == pytest.approx(-math.log2((2 + p_b) / 3))
    deep = WittenBell([[0, 1, 0, 1, 1, 2]], order=4, vocabulary=3)
    for history in ([], [2], [0, 1], [1, 1, 1, 0]):
        assert sum(deep.probability(history, symbol) for symbol in range(3)) == pytest.approx(1)


def test_a_symbol_depends_on_those_before_it_alone() -> None:
    torch.manual_seed(0)
    model = DecoderOnly(DecoderOnlyConfig(vocabulary=9, **SHAPE)).eval()
    one = torch.randint(0, 9, (1, 12))
    other = one.clone()
    other[0, 7:] = (other[0, 7:] + 1) % 9
    with torch.no_grad():
        logits, maps = model(one, return_attention=True)
        torch.testing.assert_close(model(other)[:, :7], logits[:, :7], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(model(one), logits, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(model(other)[:, 7:], logits[:, 7:])
    assert list(maps) == ["layer 1"] and maps["layer 1"].triu(1).abs().max() == 0
    with pytest.raises(ValueError, match="at most 24"):
        model(torch.zeros(1, 25, dtype=torch.long))


def test_bits_per_character_are_cross_entropies() -> None:
    torch.manual_seed(1)
    model = DecoderOnly(DecoderOnlyConfig(vocabulary=9, **SHAPE)).eval()
    short, long = torch.randint(0, 9, (11,)).tolist(), torch.randint(0, 9, (33,)).tolist()
    losses = []
    with torch.no_grad():
        for first, stop, counted in ((0, 10, 0),):
            x = torch.tensor([short[first : stop + 1]])
            losses.append(F.cross_entropy(model(x[:, :-1])[0], x[0, 1:], reduction="none")[counted:])
        for first, stop, counted in ((0, 24, 0), (12, 32, 12)):  # the second window is read from its half on
            x = torch.tensor([long[first : stop + 1]])
            losses.append(F.cross_entropy(model(x[:, :-1])[0], x[0, 1:], reduction="none")[counted:])
    wanted = torch.cat(losses)
    assert len(wanted) == len(short) - 1 + len(long) - 1
    assert bits_per_character(model, [short, long]) == pytest.approx(float(wanted.mean()) / math.log(2), rel=1e-4)


def test_a_batch_holds_what_follows_each_symbol() -> None:
    texts = [f"la fila {i} mira a la fila {i * 7 % 10}" for i in range(100)]
    symbols = vocabulary(texts)
    task = TextTask(
        {"train": texts, "validation": texts[:2]}, symbols, 24, TextTraining(batch=4, steps_per_epoch=3, at_start=1.0)
    )
    batches = list(task.batches(0))
    assert len(batches) == 3 and all(x[:, 1:].equal(y[:, :-1]) for x, y in batches)
    assert all((x[:, 0] == 0).all() for x, _y in batches)  # every window begins where a paragraph does
    assert all(a.equal(b) for (a, _), (b, _) in zip(batches, task.batches(0), strict=True))
    assert encode("fñ", symbols) == [0, symbols.index("f"), symbols.index("�"), 0]


def test_a_run_writes_a_card_with_its_baselines(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("\n\n".join(f"la fila numero {i} mira a la fila numero {i * 7 % 50}" for i in range(60)))
    loop = LoopSettings(epochs=2, steps_per_epoch=30, peak_rate=1e-2, warmup=5, seed=0)
    run = TrainingRun(name="text", folder=tmp_path / "out")
    train(run, SHAPE, TextTraining(batch=8, steps_per_epoch=30), loop, root=tmp_path)
    checkpoint = checkpoints.load("text", folder=tmp_path / "out")
    test = checkpoint.card["metrics"]["test"]
    assert checkpoint.card["split"]["paragraphs"] == {"train": 48, "validation": 6, "test": 6}
    assert checkpoint.card["data"][0]["file"] == "README.md" and checkpoint.card["classes"][0] == "\n"
    assert test["perplexity"] == pytest.approx(2 ** test["bits_per_character"], rel=1e-3)
    assert test["baselines"]["trigram"] < test["baselines"]["bigram"] < test["baselines"]["unigram"]
    assert test["bits_per_character"] < test["baselines"]["unigram"]
    assert checkpoints.build_model(checkpoint, DecoderOnly).config.length == 24
