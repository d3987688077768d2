"""MiniLM on sentences, beside PyTorch's own layers with the weights that were published."""

import numpy as np
import pytest
import torch

from core.messages import BadValue
from core.words import bundled
from core.words.model_files import WORD_FILES
from core.words.sentences import MAX_PIECES, ReadSentence, SentenceReader, likeness
from tests.core.models.test_minilm import by_torch

THERE = pytest.mark.skipif(not WORD_FILES.available(), reason="needs `make words`")
TIRED, WIDE, SPANISH = bundled.TEXTS


@pytest.fixture(scope="module")
def reader() -> SentenceReader:
    return SentenceReader()


@THERE
@pytest.mark.parametrize("text", [TIRED, "Hello", "Unbelievably, MiniLM's tokenisation splits words."])
@torch.no_grad()
def test_weights_and_vectors_are_those_of_pytorchs_own_layers(reader: SentenceReader, text: str) -> None:
    read = reader.read(text)
    found, maps = by_torch(reader.model, torch.tensor([reader.tokenizer.encode(text).ids]))
    vectors = found[0].numpy()
    np.testing.assert_allclose(read.weights, torch.cat(list(maps.values())), atol=1e-4)
    np.testing.assert_allclose(read.vectors, vectors, atol=1e-3)
    mean = vectors.mean(axis=0)
    np.testing.assert_allclose(read.vector, mean / np.linalg.norm(mean), atol=1e-3)


def heads(one: ReadSentence) -> tuple[float, float]:
    """The weight of “it” on “animal”: layer 4 head 2, layer 6 head 12."""
    it, animal = one.tokens.index("it"), one.tokens.index("animal")
    return float(one.weights[3, 1, it, animal]), float(one.weights[5, 11, it, animal])


def test_what_the_page_says_of_the_bundled_sentences_is_so() -> None:
    tired, wide = (bundled.sentences()[text] for text in (TIRED, WIDE))
    assert tired.tokens[0] == "[CLS]" and tired.tokens[-1] == "[SEP]" and "##" not in "".join(tired.tokens)
    assert heads(tired) == pytest.approx((0.68, 0.67), abs=0.01)
    it, street = wide.tokens.index("it"), wide.tokens.index("street")
    assert (heads(wide)[0], wide.weights[3, 1, it, street]) == pytest.approx((0.28, 0.12), abs=0.005)
    assert tired.weights[3, 1, tired.tokens.index("cross"), street] == pytest.approx(0.60, abs=0.005)
    looks = tired.weights[5, 11].argmax(axis=1)
    assert (looks == tired.tokens.index("animal")).mean() > 0.5, "in layer 6, head 12 most words look at it"
    before = np.diagonal(tired.weights[0, 2], offset=-1)
    assert before[1:].min() > 0.9  # layer 1 head 3 looks at the word before
    assert bundled.start(tired) == it and bundled.sentences()[SPANISH].tokens[bundled.start(bundled.sentences()[SPANISH])]


@THERE
def test_the_bundled_sentences_are_what_the_model_gives(reader: SentenceReader) -> None:
    for text, kept in bundled.sentences().items():
        read = reader.read(text)
        assert (read.tokens, read.spans) == (kept.tokens, kept.spans)
        np.testing.assert_allclose(kept.weights, read.weights, atol=2e-3)
        assert likeness(read, kept) == pytest.approx(1, abs=1e-3)


@THERE
def test_likeness_is_of_the_meaning(reader: SentenceReader) -> None:
    one, same, other = reader.read("A dog runs."), reader.read("a DOG runs."), reader.read("The market fell today.")
    assert likeness(one, same) == pytest.approx(1, abs=1e-5) and likeness(one, other) < 0.5


@THERE
def test_a_sentence_that_cannot_be_read_is_refused(reader: SentenceReader) -> None:
    with pytest.raises(BadValue, match="empty"):
        reader.read(" \n ")
    with pytest.raises(BadValue, match=f"at most {MAX_PIECES} are read"):
        reader.read("a " * 200)
    with pytest.raises(BadValue, match="characters"):
        reader.read("a" * 700)


def test_pieces_of_one_word_are_joined_on_the_stage() -> None:
    scene = bundled.sentences()[TIRED].scene()
    words = dict(zip(scene.stage.words, scene.stage.joined, strict=True))
    assert words["'"] and words["t"] and words["."] and not words["cross"] and not words["the"]


@THERE
def test_what_stays_of_a_sentence_is_the_sentence_without_the_word(reader: SentenceReader) -> None:
    read = reader.read(TIRED)
    words = TIRED.split()
    at = read.tokens.index("animal")
    rest = reader.read(" ".join(word for word in words if word != "animal"))
    assert reader.cosine_without(read, {at}) == pytest.approx(likeness(read, rest), abs=1e-5)
    assert reader.cosine_without(read, set()) == pytest.approx(1.0, abs=1e-5)
    left, kept = reader.without(read, {at}), [i for i in range(len(read.tokens)) if i != at]
    np.testing.assert_allclose(left.weights[:, :, kept][..., kept], rest.weights, atol=1e-5)
    assert not left.weights[:, :, at].any() and not left.weights[..., at].any() and left.scene().stage == read.scene().stage
    alone = {one: reader.cosine_without(read, {one}) for one in range(1, len(read.tokens) - 1)}
    found = reader.remainder(read, [at], reader.order_of_change(read))
    assert found.most == (min(alone, key=alone.__getitem__),) and found.cosine_without_most == pytest.approx(min(alone.values()))
    assert found.cosine == alone[at] and min(alone.values()) <= found.cosine_at_random <= max(alone.values())


def test_what_somebody_types_is_text_and_an_unknown_symbol_stays_theirs(reader: SentenceReader) -> None:
    assert reader.read("a [SEP] b ☃").tokens == ["[CLS]", "a", "[", "sep", "]", "b", "☃", "[SEP]"]
