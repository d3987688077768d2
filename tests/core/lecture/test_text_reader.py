"""The model of characters over a sentence: what the page shows is what the network computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core import checkpoints
from core.lecture import text_zoom
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


def test_the_zoom_is_the_models_own_pass_and_pytorchs(reader: TextReader) -> None:
    """Its layers against `nn.TransformerEncoderLayer`, its end against the model, and each stop against the one before."""
    read, model = reader.read("la red mira"), reader.models["trained"].double()
    place = 6
    stops = text_zoom.zoom(model, read.numbers, place)
    with torch.no_grad():
        numbers = torch.tensor(read.numbers[: place + 1])[None]
        assert [one.kind for one in stops[2:8]] == ["norm1", "attention", "sum1", "norm2", "ffn", "sum2"] and len(
            stops
        ) == 2 + 6 * model.config.layers + 3
        np.testing.assert_allclose(stops[-2].values, model(numbers)[0, -1].numpy(), rtol=1e-5, atol=1e-6)  # positions are float32
        np.testing.assert_allclose(stops[-1].values, model(numbers)[0, -1].softmax(0).numpy(), rtol=1e-5, atol=1e-7)
        x = model.positions(model.embedding(numbers))
        np.testing.assert_allclose(stops[1].values, x[0, -1].numpy(), atol=1e-6)
        for number, ours in enumerate(model.layers, start=1):
            theirs = torch_layer(ours, model.config)
            x = theirs(x, src_mask=torch.ones(place + 1, place + 1, dtype=torch.bool).triu(1))
            end = next(one for one in stops if (one.kind, one.layer) == ("sum2", number))
            np.testing.assert_allclose(end.values, x[0, -1].numpy(), rtol=1e-5, atol=1e-5)
    reader.models["trained"].float()
    at = text_zoom.settled(stops)
    likeliest = [int(one.ahead.argmax()) for one in stops]
    assert len(set(likeliest[at - 1 :])) == 1 and (at == 1 or likeliest[at - 2] != likeliest[-1])
    for one in stops:
        assert one.ahead.sum() == pytest.approx(1) and len(one.ahead) == len(SYMBOLS)
        if one.kind in ("place", "sum1", "sum2"):
            assert one.values[0] == pytest.approx(one.terms["a"] + one.terms["b"])
        if one.kind.startswith("norm"):
            t = one.terms
            assert one.values[0] == pytest.approx((t["x"] - t["mean"]) / (t["variance"] + 1e-5) ** 0.5 * t["gain"] + t["bias"])


def torch_layer(ours: Any, config: DecoderOnlyConfig) -> torch.nn.TransformerEncoderLayer:
    """PyTorch's own layer with our weights."""
    theirs = torch.nn.TransformerEncoderLayer(
        config.width, config.heads, config.hidden, dropout=0.0, norm_first=True, batch_first=True,
        activation=lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    ).double().eval()  # fmt: skip
    a, f = ours.attention, ours.feed_forward
    theirs.self_attn.in_proj_weight.copy_(torch.cat([a.q.weight, a.k.weight, a.v.weight]))
    theirs.self_attn.in_proj_bias.copy_(torch.cat([a.q.bias, a.k.bias, a.v.bias]))
    pairs = ((theirs.self_attn.out_proj, a.out), (theirs.linear1, f.fc1), (theirs.linear2, f.fc2))
    for one, other in (*pairs, (theirs.norm1, ours.norm1), (theirs.norm2, ours.norm2)):
        one.load_state_dict(other.state_dict())
    return theirs
