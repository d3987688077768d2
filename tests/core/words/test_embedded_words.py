"""The bundled rows of the lesson's words: those of MiniLM's table, and near to whom the table says."""

import numpy as np
import pytest
import torch

from core.lecture.positions import cosines
from core.words.bundled import NEAREST, WORDS, embedded_words
from core.words.model_files import WORD_FILES


def test_words_of_one_kind_are_nearer_to_each_other_than_to_any_other() -> None:
    like = cosines(embedded_words().rows) - np.eye(len(WORDS))
    kinds = [("cat", "dog", "horse"), ("red", "blue", "green"), ("king", "queen"), ("monday", "friday"), ("two", "three")]
    kind_of = {word: kind for kind in kinds for word in kind}
    for at, word in enumerate(WORDS):
        assert WORDS[int(like[at].argmax())] in kind_of[word], word


@pytest.mark.skipif(not WORD_FILES.available(), reason="needs `make words`")
def test_rows_and_nearest_words_are_the_models() -> None:
    from core.words.sentences import sentence_reader

    words, reader = embedded_words(), sentence_reader()
    table = reader.model.words.weight.detach()
    assert len(table) == words.pieces and [reader.tokenizer.id_to_token(one) for one in words.ids] == list(WORDS)
    np.testing.assert_allclose(words.rows, table[words.ids].numpy(), atol=1e-3)
    for row, listed in zip(table[words.ids], words.nearest, strict=True):
        found = torch.cosine_similarity(table, row[None])
        assert [one for _word, one in listed] == sorted((one for _word, one in listed), reverse=True) and len(listed) == NEAREST
        for word, cosine in listed:
            assert float(found[reader.tokenizer.token_to_id(word)]) == pytest.approx(cosine, abs=1e-3)
