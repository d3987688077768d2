"""Write the sentences of Words and the head of the lesson: `python -m lab.bundle.sentences`, after `make words`."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from core.lecture import trained_head
from core.words import bundled
from core.words.sentences import sentence_reader

KEPT = ("weights", "vector", "vectors")
"""Arrays of a sentence that are bundled."""


def main() -> None:
    """Read each sentence and keep its maps and vectors in float16."""
    read = [sentence_reader().read(text) for text in bundled.TEXTS]
    arrays = {f"{i}.{name}": getattr(one, name).astype(np.float16) for i, one in enumerate(read) for name in KEPT}
    about = json.dumps([{"tokens": one.tokens, "spans": one.spans} for one in read], ensure_ascii=False)
    rows, words = words_of_the_lesson()
    save_file(arrays | {"words": rows}, bundled.FILE, metadata={"sentences": about, "words": json.dumps(words)})
    trained_head.FILE.write_text(json.dumps(head_of_the_lesson(), ensure_ascii=False) + "\n", encoding="utf-8")


def words_of_the_lesson() -> tuple[NDArray[np.float16], dict[str, Any]]:
    """The rows of `bundled.WORDS` in the model's table, and the rest of `EmbeddedWords`."""
    reader = sentence_reader()
    table = reader.model.words.weight.detach().cpu().numpy()
    numbers = reader.tokenizer.get_vocab()
    names = {number: piece for piece, number in numbers.items()}
    ids = [numbers[word] for word in bundled.WORDS]
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    nearest = []
    for number in ids:
        cosines = unit @ unit[number]
        best = [int(one) for one in np.argsort(-cosines) if one != number and names[int(one)].isalpha()][: bundled.NEAREST]
        nearest.append([(names[one], round(float(cosines[one]), 4)) for one in best])
    return table[ids].astype(np.float16), {"ids": ids, "pieces": len(table), "nearest": nearest}


def head_of_the_lesson() -> dict[str, Any]:
    """The head of `core.lecture.trained_head`, as its file has it."""
    reader, layer, head = sentence_reader(), trained_head.LAYER - 1, trained_head.HEAD - 1
    read = reader.read(trained_head.SENTENCE)
    q, k, v = reader.head(trained_head.SENTENCE, layer, head)
    matrices = trained_head.cut(q, k, v, trained_head.CHANNELS)
    return {
        "tokens": read.tokens,
        "matrices": {name: (np.round(values, 2) + 0.0).tolist() for name, values in matrices.items()},
        "whole": np.round(read.weights[layer, head].astype(np.float64), 4).tolist(),
    }


if __name__ == "__main__":
    main()
