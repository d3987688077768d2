"""Write the bundled sentences of Words with their maps: `python -m scripts.bundle_sentences`, after `make words`."""

from __future__ import annotations

import json

import numpy as np
from safetensors.numpy import save_file

from core.words import bundled
from core.words.sentences import sentence_reader

KEPT = ("weights", "vector", "vectors")
"""Arrays of a sentence that are bundled."""


def main() -> None:
    """Read each sentence and keep its maps and vectors in float16."""
    read = [sentence_reader().read(text) for text in bundled.TEXTS]
    arrays = {f"{i}.{name}": getattr(one, name).astype(np.float16) for i, one in enumerate(read) for name in KEPT}
    about = json.dumps([{"tokens": one.tokens, "spans": one.spans} for one in read], ensure_ascii=False)
    save_file(arrays, bundled.FILE, metadata={"sentences": about})


if __name__ == "__main__":
    main()
