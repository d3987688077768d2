"""From photographs to a shipped CCT checkpoint: start, train, calibrate on validation, write the card."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from core import checkpoints
from core.device import best_device
from core.models.cct import CCT, CCTConfig
from core.training.card import load_start, origin_entries, save_origin, training_entries
from core.training.lite_start import MEAN, STD, start_from_imagenet
from core.training.loop import Callback, LoopSettings, fit
from core.training.photograph_teacher import Lessons, Pupil
from core.training.vit_evaluation import scores
from core.training.vit_mixed import FLAGGED_GARMENTS, MixedTask, MixedTraining, answers, strangeness
from core.training.vit_photographs import NONE, OtherThings, Photographs
from core.vision.calibration import fit_temperature, softmax
from core.vision.classifier import Classifier, doubt_by_position
from core.vision.photographs import KINDS

TURNED_UPRIGHT = 0.02
"""Share of the validation part's photographs of garments that may be turned though people hold them upright."""


@dataclass(frozen=True, kw_only=True)
class PhotographFiles:
    """Photographs to train on and to validate on, with what the card says of them.

    Attributes:
        train, held_out: photographs by kind. others: pictures of no garments.
        files: that they were read from, for the card. lessons: what a teacher knows of those to train on.
        score: the scores of a classifier on the photographs held out (D30), prepared as the page does it.
    """

    train: Photographs
    held_out: Photographs
    others: OtherThings
    files: tuple[Path, ...]
    score: Callable[[Classifier], dict[str, Any]]
    lessons: Lessons | None = None


def run(
    name: str,
    photographs: PhotographFiles,
    config: CCTConfig,
    training: MixedTraining,
    loop: LoopSettings,
    *,
    folder: Path = checkpoints.FOLDER,
    state: Path | None = None,
    start: Path | None = None,
    imagenet: Path | None = None,
    callbacks: Iterable[Callback] = (),
) -> Path:
    """Train and write `<name>.safetensors` and its card; returns the card's path.

    Args:
        start: the card of a CCT, or the state of an earlier run, whose weights this one begins with.
        imagenet: file of the weights that the convolutions begin with (`core.training.lite_start`).
    """
    torch.manual_seed(training.seed)
    model = CCT(config)
    pretrained = None if imagenet is None else start_from_imagenet(model, imagenet)
    before = None if start is None else load_start(model, start)
    save_origin(state, before)
    p = photographs
    task = MixedTask(p.train, p.held_out, p.others, training, steps=loop.steps_per_epoch, lessons=p.lessons)
    learner = model if p.lessons is None else Pupil(model, p.lessons)
    progress = fit(learner, task, loop, device=best_device(), callbacks=callbacks, resume_from=state, rates=task.rates)
    card: dict[str, Any] = {
        **origin_entries(config, seed=training.seed, started_from=before),
        **training_entries(training, loop, progress),
        "transform": {
            "mean": MEAN,
            "std": STD,
            "of": "levels of each colour / 255, as the convolutions' first weights take them",
        },
        "pretrained": pretrained,
        "classes": list(KINDS.values()),
        "preparation": {"manner": "photograph"},
    }
    card["data"] = checkpoints.describe_files(p.files)
    card["split"] = "the file validation.parquet to validate on, the folder's others to train on"
    card["photographs"] = {
        "trained_on": len(p.train),
        "validated_on": len(p.held_out),
        "other_things": len(p.others.train),
        "other_things_held_out": len(p.others.validation),
    }
    card["metrics"]["validation"] |= calibrate(card, model, task)
    checkpoints.save(name, model, card, folder=folder)
    card["turning"] = turning_entry(Classifier(checkpoints.load(name, folder=folder)), p.held_out)
    checkpoints.save(name, model, card, folder=folder)
    card["metrics"]["photographs"] = p.score(Classifier(checkpoints.load(name, folder=folder)))
    return checkpoints.save(name, model, card, folder=folder)


def calibrate(card: dict[str, Any], model: CCT, task: MixedTask) -> dict[str, Any]:
    """Fit the temperature and the threshold on the photographs held out, write them to the card; the scores there."""
    real = answers(model, task.normalise(task.held_out.prepared))
    truth = task.held_out.targets.int().argmax(dim=1).numpy()
    temperature = round(fit_temperature(real[:, :NONE], truth), 4)
    card["calibration"] = {
        "method": "temperature fitted on the photographs of garments held out",
        "temperature": temperature,
    }
    card["strangeness"] = {
        "score": 'logarithm of the odds of "none of the ten", a trained output',
        "threshold": round(float(np.quantile(strangeness(real), 1 - FLAGGED_GARMENTS)), 4),
        "known_share": 1 - FLAGGED_GARMENTS,
        "fitted_on": f"{len(real)} photographs held out",
    }
    return scores(softmax(real[:, :NONE] / temperature), truth)


def turning_entry(classifier: Classifier, held_out: Photographs) -> dict[str, Any]:
    """From which margin on a picture counts as turned, and how many of the photographs held out are then set upright."""
    images = held_out.prepared.permute(0, 2, 3, 1).contiguous().numpy()
    given = doubt_by_position(classifier, images)
    margin = round(float(np.quantile(given[:, 0] - given.min(axis=1), 1 - TURNED_UPRIGHT)), 4)
    entry: dict[str, Any] = {
        "score": "log-odds of lying as given, over those in the likeliest of four positions"
        if classifier.says_lying
        else "how much less strange a picture is in the likeliest of four positions than as given",
        "margin": margin,
        "fitted_on": f"{len(images)} photographs held out, of which {TURNED_UPRIGHT:.0%} may be turned",
    }
    for quarters in (1, 2, 3):
        lying = np.roll(given, quarters, axis=1)  # a photograph turned counterclockwise lies upright after as many turns back
        upright = (lying.argmin(axis=1) == quarters) & (lying[:, 0] - lying.min(axis=1) > margin)
        entry[f"set upright from {90 * quarters} degrees"] = float(f"{upright.mean():.4g}")
    return entry
