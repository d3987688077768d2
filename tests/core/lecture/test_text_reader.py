"""The model of characters over a sentence: what the page shows is what the network computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from core import checkpoints
from core.lecture.text_reader import BEGIN, TextError, TextReader
from core.models.decoder_only import DecoderOnly, DecoderOnlyConfig

SYMBOLS = ["\n", "�", " ", *"abcdeilmnorst"]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> TextReader:
    folder: Path = tmp_path_factory.mktemp("text")
    config = DecoderOnlyConfig(vocabulary=len(SYMBOLS), width=16, heads=2, layers=2, hidden=16, length=64)
    torch.manual_seed(7)
    model = DecoderOnly(config)
    with torch.no_grad():
        for value in model.parameters():
            value.add_(0.1 * torch.randn_like(value))  # "trained"
    card = {
        "model": "decoder-only", "config": config.to_dict(), "classes": SYMBOLS, "seed": 7, "data": [], "split": "",
        "command": "", "versions": {}, "metrics": {},
    }  # fmt: skip
    checkpoints.save("text", model, card, folder=folder)
    return TextReader(folder=folder)


def test_what_is_read_is_what_the_network_gives(reader: TextReader) -> None:
    found = reader.read("la  red mira")
    assert found.text == "la red mira" and found.symbols[0] == BEGIN and found.word_names == [BEGIN, "la", "red", "mira"]
    numbers = torch.tensor([[0, *(SYMBOLS.index(one) for one in "la red mira")]])
    with torch.no_grad():
        logits = reader.models["trained"](numbers)[0].double()
    np.testing.assert_allclose(found.probabilities, logits.softmax(dim=1).numpy(), rtol=1e-3, atol=1e-6)
    wanted = torch.nn.functional.cross_entropy(logits[:-1], numbers[0, 1:], reduction="none").numpy() / np.log(2)
    np.testing.assert_allclose(found.bits, wanted, rtol=1e-3)
    assert found.next_symbols(4)[0][0] == (BEGIN, *SYMBOLS[1:])[int(logits[4].argmax())]
    assert max(found.deviation(layer) for layer in reader.layers) < 1e-5


def test_weights_between_words_are_those_between_their_characters(reader: TextReader) -> None:
    found = reader.read("la red mira")
    whole, words = found.maps["layer 2"][1], found.by_words("layer 2", 1)
    assert words.sum(axis=1) == pytest.approx(np.ones(4)) and words[1, 2:] == pytest.approx([0, 0])
    red, la = range(3, 7), range(1, 3)  # " red" and "la"
    assert words[2, 1] == pytest.approx(np.mean([sum(whole[i, j] for j in la) for i in red]))


def test_the_untrained_twin_is_the_network_that_the_seed_draws(reader: TextReader) -> None:
    state = torch.get_rng_state()
    torch.manual_seed(7)
    twin = DecoderOnly(reader.models["random"].config).state_dict()
    torch.set_rng_state(state)
    assert all(torch.equal(value, twin[name]) for name, value in reader.models["random"].state_dict().items())
    assert not np.allclose(reader.read("la red", "random").logits, reader.read("la red").logits)


def test_a_continuation_takes_the_likeliest_each_time(reader: TextReader) -> None:
    text = "la red"
    for mark in reader.continued(text, most=5):
        likeliest = reader.read(text).next_symbols(len(text))[0][0]
        assert likeliest == mark or mark == " "
        if mark == " ":  # a blank at the end would be trimmed
            break
        text += mark


def test_other_texts_are_refused_or_marked(reader: TextReader) -> None:
    assert reader.read("la Ñ").unknown == ("Ñ",)
    for text, sentence in (("  ", "empty"), ("a" * 61, "61 characters")):
        with pytest.raises(TextError, match=sentence):
            reader.read(text)
