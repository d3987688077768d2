"""SmolLM2 as it is set up, beside what transformers' LlamaForCausalLM made of the same published file."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attention_observatory import capture, write_words
from core.cli import main
from core.messages import BadValue
from core.words.writer import MAX_TOKENS, Writer, choose, writer
from core.words.writer_files import WRITER_FILES

pytestmark = pytest.mark.skipif(not WRITER_FILES.available(), reason="needs `make writer`")
KEPT: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "smollm2" / "transformers.json").read_text(encoding="utf-8")
)
"""Of each text the ids, the last token's logits (each 997th and the ten likeliest) and its row in every head, in float32."""
ROME, ZORBLAX = (one["text"] for one in KEPT[:2])


@pytest.fixture(scope="module")
def one() -> Writer:
    return writer()


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept["text"][:8])
def test_tokens_logits_and_maps_are_those_of_transformers(one: Writer, kept: dict[str, Any]) -> None:
    ids = one.ids(kept["text"])
    assert ids == kept["ids"] and b"".join(one.pieces[at] for at in ids).decode() == kept["text"]
    with torch.inference_mode():
        logits, maps = one.model(torch.tensor([ids]), return_attention=True)
    np.testing.assert_allclose(logits[0, -1, kept["chosen"]].numpy(), kept["logits"], atol=2e-2)
    rows = torch.cat(list(maps.values()))[:, :, -1].numpy()
    np.testing.assert_allclose(rows, kept["rows"], atol=2e-3)
    state = one.begin(ids)
    np.testing.assert_allclose(state.scores, logits[0, -1].log_softmax(-1).numpy(), atol=1e-3)
    np.testing.assert_allclose(state.weights[:, :, -1], rows, atol=1e-4)


@pytest.mark.parametrize(
    ("text", "token", "share"), [("The capital of France is", " Paris", 0.773), (ROME, " Italy", 0.980), (ZORBLAX, "bl", 0.973)]
)
def test_the_likeliest_word_is_the_one_that_was_published_to_be(text: str, token: str, share: float) -> None:
    answer = write_words(text)
    assert answer.next[0][0] == token and answer.next[0][1] == pytest.approx(share, abs=0.005)
    assert "".join(answer.tokens) == answer.text == text
    assert math.fsum(p for _token, p in answer.next) == pytest.approx(1, abs=1e-4)
    assert answer.weights.shape == (30, 9, len(answer.tokens), len(answer.tokens))
    np.testing.assert_allclose(answer.weights.sum(-1), 1, atol=1e-4)
    assert not np.triu(answer.weights, 1).any()
    assert answer.scene().layers[29].weights.shape == answer.weights.shape[1:] and len(answer.plot().data) == 1
    assert answer.to_frame().token[0] == token and token in repr(answer)


def test_capture_catches_the_maps_of_the_answer(one: Writer) -> None:
    with torch.inference_mode(), capture(one.model) as layers:
        one.model(torch.tensor([one.ids(ZORBLAX)]))
    caught = np.stack([layer.weights for layer in layers])
    np.testing.assert_allclose(caught, write_words(ZORBLAX).weights, atol=1e-4)


def test_writing_on_is_reading_what_was_written(one: Writer) -> None:
    written = write_words("Once upon a time", tokens=6)
    again = write_words(written.text)
    assert len(written.tokens) == len(one.ids("Once upon a time")) + 6 and again.tokens == written.tokens
    np.testing.assert_allclose(written.weights, again.weights, atol=1e-4)
    assert dict(written.next[:5]) == pytest.approx(dict(again.next[:5]), abs=1e-3)
    first = write_words("Once upon a time")
    by_hand = first.log_probability  # the chain rule: each token's share where it was next
    for count in range(6):
        before = write_words("Once upon a time", tokens=count)
        by_hand += math.log(dict(before.next)[written.tokens[len(before.tokens)]])
    assert written.log_probability == pytest.approx(by_hand, abs=1e-2)


def test_a_seed_writes_the_same_and_another_seed_another() -> None:
    texts = [write_words("The sea", tokens=8, temperature=1.5, seed=seed).text for seed in (1, 1, 2, 3)]
    assert texts[0] == texts[1] and len(set(texts)) > 1


def test_draws_have_the_shares_of_the_softmax_and_of_its_likeliest_part() -> None:
    scores = np.log(np.array([0.1, 0.5, 0.15, 0.25], dtype=np.float32))
    draws = [choose(scores, temperature=1.0, seed=7, place=place) for place in range(4000)]
    np.testing.assert_allclose(np.bincount(draws, minlength=4) / 4000, [0.1, 0.5, 0.15, 0.25], atol=0.04)
    warm = [choose(scores, temperature=2.0, seed=7, place=place) for place in range(4000)]
    roots = np.sqrt([0.1, 0.5, 0.15, 0.25])
    np.testing.assert_allclose(np.bincount(warm, minlength=4) / 4000, roots / roots.sum(), atol=0.04)
    top = [choose(scores, temperature=1.0, top_p=0.6, seed=7, place=place) for place in range(4000)]
    np.testing.assert_allclose(np.bincount(top, minlength=4) / 4000, [0, 2 / 3, 0, 1 / 3], atol=0.04)
    assert choose(scores, temperature=0.0) == 1


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("", {}, "the text is empty"),
        ("a " * MAX_TOKENS, {}, "more than 512 pieces of words"),
        ("a", {"tokens": -1}, "-1 tokens cannot be written: 0 to 511 can"),
        ("a", {"temperature": float("nan")}, "must be 0 or more, not nan and 0"),
        ("a", {"seed": -2}, "must be 0 or more, not 0.0 and -2"),
    ],
)
def test_what_cannot_be_written_is_refused_with_a_sentence(text: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(BadValue, match=says):
        write_words(text, **options)


def test_bits_a_byte_are_those_of_the_log_probability(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "The cat sat on the mat. The cat sat on the mat."
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    assert main(["evaluate", "writer", "--data", str(tmp_path / "text.txt"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    answer = write_words(text)
    nats = math.log(49152) - answer.log_probability
    assert found["bits_per_byte"] == pytest.approx(nats / math.log(2) / len(text), abs=1e-3)
    counts = {token: answer.tokens.count(token) for token in answer.tokens}
    total = sum(counts.values())
    bits = -sum(count * math.log2(count / total) for count in counts.values())
    assert found["baselines"]["unigram"]["bits_per_byte"] == pytest.approx(bits / len(text), abs=1e-5)
    assert found["samples"] == total
