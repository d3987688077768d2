"""The encoder-decoder on written dates, with held-out days and formats."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core import checkpoints
from core.device import best_device
from core.lecture import dates
from core.lecture.dates import BEGIN, END, DatePair
from core.lecture.decoding import greedy
from core.models.transformer import Transformer, TransformerConfig
from core.training.card import save, trained
from core.training.loop import Batch, LoopSettings
from core.training.recipe import TrainingRecipe, TrainingRun, add_rows, add_run, add_test, from_options, loop_of, run_of

CHUNK = 16
"""Number of batches whose samples are sorted by length together, which keeps padding small."""


@dataclass(frozen=True, kw_only=True)
class DatesTraining:
    """Settings of a run: samples per step, steps per epoch, samples of validation and test, seed of split and samples."""

    batch: int = 128
    steps_per_epoch: int = 250
    validation: int = 600
    test: int = 5_000
    smoothing: float = 0.0
    seed: int = 0


def tensors(pairs: Sequence[DatePair]) -> tuple[Tensor, Tensor, Tensor]:
    """Source (batch, S), target (batch, 11) with the begin sign first, and the right next symbols (batch, 11)."""
    answers = torch.tensor([dates.encode_text(pair.iso) for pair in pairs])
    ends = torch.full((len(pairs), 1), END)
    target = torch.cat([torch.full_like(ends, BEGIN), answers], dim=1)
    return torch.tensor(dates.padded([pair.text for pair in pairs])), target, torch.cat([answers, ends], dim=1)


class DatesTask:
    """Batches, loss and validation for `core.training.loop.fit`."""

    def __init__(self, settings: DatesTraining) -> None:
        self.settings = settings
        self.validation = dates.sample_pairs("validation", settings.validation, seed=settings.seed)

    def batches(self, epoch: int) -> Iterator[Batch]:
        s = self.settings
        pairs = dates.sample_pairs("train", s.batch * s.steps_per_epoch, seed=s.seed, stream=epoch)
        rng = np.random.default_rng([s.seed, 4, epoch])
        for start in range(0, len(pairs), CHUNK * s.batch):
            chunk = sorted(pairs[start : start + CHUNK * s.batch], key=lambda pair: len(pair.text))
            batches = [chunk[first : first + s.batch] for first in range(0, len(chunk), s.batch)]
            for index in rng.permutation(len(batches)):
                yield tensors(batches[int(index)])

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        source, target, wanted = batch
        logits = model(source, target)
        return F.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten(), label_smoothing=self.settings.smoothing)

    def validate(self, model: nn.Module) -> dict[str, float]:
        assert isinstance(model, Transformer)
        right = exact(model, self.validation)
        return {"score": float(np.mean(right))}


def exact(model: Transformer, pairs: Sequence[DatePair], *, batch: int = 500) -> list[bool]:
    """Tells whether each date, decoded greedily, is exactly right."""
    device = next(model.parameters()).device
    right: list[bool] = []
    for first in range(0, len(pairs), batch):
        some = pairs[first : first + batch]
        answers = greedy(model, tensors(some)[0].to(device))
        right += [dates.decode_text(one) == pair.iso for one, pair in zip(answers, some, strict=True)]
    return right


def test_once(model: Transformer, training: DatesTraining) -> dict[str, Any]:
    """Exact match on days and formats outside training, in all and by format, with the first misses and baselines."""
    pairs = dates.sample_pairs("test", training.test, seed=training.seed)
    right = exact(model, pairs)
    by_body: dict[str, list[bool]] = {}
    for pair, one in zip(pairs, right, strict=True):
        by_body.setdefault(f"{pair.language}: {pair.body}", []).append(one)
    misses = [pair for pair, one in zip(pairs, right, strict=True) if not one][:20]
    answers = greedy(model, tensors(misses)[0].to(next(model.parameters()).device)) if misses else []
    return {
        "samples": len(pairs),
        "exact_match": round(float(np.mean(right)), 5),
        "by_format": {body: round(float(np.mean(some)), 4) for body, some in sorted(by_body.items())},
        "misses": [
            {"text": pair.text, "iso": pair.iso, "answer": dates.decode_text(one)}
            for pair, one in zip(misses, answers, strict=True)
        ],
        "baselines": {
            "copying the digits in order": round(float(np.mean([_copied(pair) for pair in pairs])), 4),
            "rules by hand": round(float(np.mean([dates.parse_by_rules(pair.text) == pair.iso for pair in pairs])), 4),
        },
    }


def _copied(pair: DatePair) -> bool:
    """Tells whether the digits in their order are year, month and day."""
    return "".join(c for c in pair.text if c.isdigit()) == pair.iso.replace("-", "")


def train(run: TrainingRun, config: TransformerConfig, training: DatesTraining, loop: LoopSettings) -> Path:
    """Train and write the checkpoint and its card; returns the card's path."""
    torch.manual_seed(training.seed)
    model = Transformer(config)
    card: dict[str, Any] = {
        **trained(run, model, DatesTask(training), loop, training=training, config=config),
        "classes": list(dates.SYMBOLS),
        "transform": "core.lecture.dates.normalise: no capitals, no accents, single spaces; one symbol a character",
        "data": "generated by core.lecture.dates from the seed: English and Spanish dates of 1900 to 2099 and their ISO form",
        "conventions": "all-numeric dates are day first unless the year leads; two-digit years are 1969 to 2068",
        "split": {
            "days": f"drawn by the seed: {dates.HELD_OUT['validation']:.0%} validation, {dates.HELD_OUT['test']:.0%} test",
            "formats": {
                part: [f"{language}: {body}" for language, body in dates.bodies_of(part, training.seed)]
                for part in ("validation", "test")
            },
            "note": "a validation or test sample has both a day and a format that training never saw",
        },
    }

    def test(checkpoint: checkpoints.Checkpoint) -> dict[str, Any]:
        return {"test": test_once(checkpoints.build_model(checkpoint, Transformer, device=best_device()), training)}

    return save(run, model, card, test)


def add_options(p: argparse.ArgumentParser) -> None:
    """Options of the command."""
    add_run(p, name="dates", rate=1.5e-3, weight_decay=0.01, ema=0.995, warmup=400)
    add_rows(
        p,
        ("width", 96, None),
        ("heads", 4, None),
        ("layers", 2, "encoder layers, and as many decoder layers"),
        ("hidden", 192, "middle width of the feed-forward networks"),
        ("dropout", 0.0, None),
        ("epochs", 20, None),
        ("steps", 250, "steps an epoch"),
        ("batch", 64, None),
        ("smoothing", 0.0, "label smoothing"),
    )
    add_test(p)


def _run(o: argparse.Namespace) -> Path:
    loop = loop_of(o, steps=o.steps)
    config = from_options(TransformerConfig, o, vocabulary=len(dates.SYMBOLS))
    training = DatesTraining(batch=o.batch, steps_per_epoch=o.steps, smoothing=o.smoothing, seed=o.seed)
    return train(run_of(o, loop), config, training, loop)


RECIPES = {"dates": TrainingRecipe(add_options=add_options, run=_run)}
