"""Checkpoints on the Hugging Face Hub, by huggingface_hub's mixin: `push_to_hub`, `from_pretrained`, `save_pretrained`.

A repository holds `model.safetensors`, the checkpoint's card as `config.json`, and a README written from that card. The weights'
SHA-256 stands in the card and is checked when they are read; nothing is unpickled.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final, Self

from attention_observatory.extras import of_extra
from core import checkpoints
from core.models import MODELS

with of_extra("hub"):
    from huggingface_hub import ModelCard, ModelCardData, ModelHubMixin, hf_hub_download
    from huggingface_hub.constants import CONFIG_NAME, SAFETENSORS_SINGLE_FILE

LIBRARY: Final = "attention-observatory"
USES: Final = {
    "book": 'predict_book("book.parquet", checkpoint="OWNER/NAME")',
    "picture": 'classify_photo("photograph.jpg", checkpoint="OWNER/NAME")',
    "clip": 'read_signs("film.mp4", checkpoint="OWNER/NAME")',
}
"""A call that asks a checkpoint, by what its model reads."""


class HubCheckpoint(ModelHubMixin, library_name=LIBRARY):
    """A checkpoint as the Hub keeps it: `load("OWNER/NAME")` makes it answer.

    Methods of huggingface_hub's mixin: `push_to_hub("OWNER/NAME", private=True)`, `from_pretrained("OWNER/NAME")`,
    `save_pretrained("FOLDER")`, with the options that it documents.

    Args:
        card: the entries of its card.
        weights: its file of tensors.
    """

    def __init__(self, card: dict[str, Any], weights: Path) -> None:
        checkpoints.check_card(card, CONFIG_NAME)
        self.card, self.weights = card, weights
        self._hub_mixin_config = card  # what the mixin writes as config.json

    @classmethod
    def of(cls, name: str, *, folder: str | PathLike[str] = checkpoints.FOLDER) -> Self:
        """The checkpoint of this name in a folder, such as the one that `train` writes to; a shipped one where none is named.

        Raises:
            CheckpointError: where there is none, or its card is damaged.
        """
        return cls(checkpoints.read_card(name, folder=Path(folder)), Path(folder) / f"{name}.safetensors")

    def checkpoint(self) -> checkpoints.Checkpoint:
        """Card and weights, checked against each other.

        Raises:
            CheckpointError: where the weights are missing, damaged or another card's.
        """
        return checkpoints.with_weights(self.card, self.weights)

    def _save_pretrained(self, save_directory: Path) -> None:
        self.checkpoint()
        shutil.copyfile(self.weights, save_directory / SAFETENSORS_SINGLE_FILE)

    @classmethod
    def _from_pretrained(
        cls, *, model_id: str, config: dict[str, Any] | None = None, local_files_only: bool = False, **where: Any
    ) -> Self:
        if config is None:
            raise checkpoints.CheckpointError("{name} is no checkpoint: it has no {file}", name=model_id, file=CONFIG_NAME)
        if Path(model_id).is_dir():
            return cls(config, Path(model_id, SAFETENSORS_SINGLE_FILE))
        file = hf_hub_download(model_id, SAFETENSORS_SINGLE_FILE, local_files_only=local_files_only, **where)
        return cls(config, Path(file))

    def generate_model_card(self, license: str | None = None, **_: Any) -> ModelCard:
        """README written from the card.

        Args:
            license: of the weights, as the Hub spells it; `push_to_hub(..., model_card_kwargs={"license": "mit"})`.
        """
        model = str(self.card["model"])
        about = ModelCardData(license=license, library_name=LIBRARY, tags=["attention", model], model_name=str(self.card["name"]))
        return ModelCard(f"---\n{about.to_yaml()}\n---\n\n{readme(self.card)}")


def readme(card: dict[str, Any]) -> str:
    """A card's entries as Markdown: use, data, split, training, scores, notes."""
    reads = MODELS.input_of(str(card["model"]))
    call = USES.get(reads, 'HubCheckpoint.from_pretrained("OWNER/NAME").checkpoint()')
    parts = [
        f"# {card['name']}",
        f"A {card['model']} of Attention Observatory, {card['parameters']:,} parameters, trained {card['date']}.",
        f"```python\nfrom attention_observatory import {call.partition('(')[0].partition('.')[0]}\n\n{call}\n```",
        f"- Command: `{card['command']}`, seed {card['seed']}\n"
        f"- Split: {card['split']}\n"
        f"- Versions: {', '.join(f'{name} {number}' for name, number in dict(card['versions']).items())}\n"
        f"- SHA-256 of the weights: `{card['weights_sha256']}`",
        "## Data",
        _table(("file", "SHA-256"), ((one["file"], one["sha256"]) for one in card["data"]))
        if isinstance(card["data"], list)
        else str(card["data"]),
        "## Scores",
        *_scores(card["metrics"], ()),
    ]
    if card.get("notes"):
        parts += ["## Notes", "\n".join(f"- {note}" for note in card["notes"])]
    return "\n\n".join(parts) + "\n"


def _scores(metrics: Mapping[str, Any], path: Sequence[str]) -> Iterator[str]:
    """A table of a level's numbers, then those of its parts. Matrices stand in config.json alone."""
    plain = {name: value for name, value in metrics.items() if isinstance(value, int | float | str)}
    if plain:
        yield from (*_heading(path), _table(("measure", "value"), plain.items()))
    for name, value in metrics.items():
        rows = value if isinstance(value, list) else _alike(value) if isinstance(value, Mapping) else []
        if rows and isinstance(rows[0], Mapping):
            columns = [key for key, one in rows[0].items() if isinstance(one, int | float | str)]
            yield from (*_heading((*path, name)), _table(columns, ([one.get(key, "") for key in columns] for one in rows)))
        elif isinstance(value, Mapping):
            yield from _scores(value, (*path, name))


def _alike(parts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Parts that have the same entries, as those of every kind of garment, as rows of one table; none where they differ."""
    alike = all(isinstance(one, Mapping) for one in parts.values()) and len({tuple(one) for one in parts.values()}) == 1
    return [{"": name, **one} for name, one in parts.items()] if alike and len(parts) > 1 else []


def _heading(path: Sequence[str]) -> list[str]:
    return [f"### {', '.join(path)}"] if path else []


def _table(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
