"""From IDX files to a shipped ViT checkpoint: train, calibrate on validation, test once, write the card."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core import checkpoints
from core.device import best_device
from core.models import MODELS
from core.models.vit import CLASSES, ViT, ViTConfig
from core.training.card import Weights, load_start, origin_entries, save_origin, training_entries
from core.training.distil import Student
from core.training.loop import Callback, LoopSettings, fit
from core.training.vit import VALIDATION, ViTTask, ViTTraining, answer, data_entries, prepare, some_of
from core.training.vit_evaluation import evaluate, scores, worst_mistakes
from core.training.vit_start import start_local
from core.training.vit_teacher import load_teacher
from core.training.widening import widened
from core.vision.calibration import fit_temperature, softmax
from core.vision.classifier import Classifier
from core.vision.familiarity import Familiarity
from core.vision.idx import IdxPart, file_paths, read_part

Floats = NDArray[np.float64]
KNOWN_SHARE = 0.99
"""Share of the validation images that must count as garments: what the strangeness threshold is set by."""
KNOWN = 20_000
"""Training images, at most, that class means and covariance are measured on."""


def run(
    name: str,
    data: Path,
    config: ViTConfig,
    training: ViTTraining,
    loop: LoopSettings,
    *,
    folder: Path = checkpoints.FOLDER,
    state: Path | None = None,
    start: Path | None = None,
    teacher: str | None = None,
    compiled: bool = False,
    images: int | None = None,
    test: bool = True,
    callbacks: Iterable[Callback] = (),
) -> Path:
    """Train and write `<name>.safetensors` and its card; returns the card's path.

    Args:
        data: folder of the IDX files.
        state: where the run keeps what it needs to be resumed; see `core.training.loop.fit`.
        start: the state of an earlier run, whose best weights this one begins with; the card tells of both.
        teacher: name of a teacher's checkpoint in `folder`.
        compiled: compile the training step with torch.compile.
        images: how many of the training file's images to use, validation included; all where left out.
        test: whether to score the test images; variants that are only being compared leave them unread.
    """
    garments = prepare(images_of(data, images, training.split_seed), split_seed=training.split_seed, held_out=held_out_of(images))
    torch.manual_seed(training.seed)
    model = cast(ViT, MODELS[config.model][0](config))
    if config.start == "local":
        start_local(model)
    before = None if start is None else load_start(model, start, adapt=partial(_vit_weights, model))
    save_origin(state, before)
    device = best_device()
    master = None if teacher is None else load_teacher(teacher, folder=folder).to(device)
    pupil = model if master is None else Student(model, cells=master.config.stages[1], depth=training.hint_depth)
    if compiled:
        pupil.compile(dynamic=False)
        if master is not None:
            master.compile(dynamic=False)
    task = ViTTask(garments, training, patches=config.patches, teacher=master)
    progress = fit(pupil, task, loop, device=device, callbacks=callbacks, resume_from=state)
    card: dict[str, Any] = {
        **origin_entries(config, seed=training.seed, started_from=before),
        **data_entries(data, garments, training.split_seed),
        **training_entries(training, loop, progress),
        "classes": list(CLASSES),
        "teacher": None if teacher is None else teacher_entry(teacher, folder),
    }
    normalised = task.normalise(garments.validation_images)
    logits = answer(model, normalised).double().cpu().numpy()
    truth = garments.validation_labels.numpy()
    temperature = round(fit_temperature(logits, truth), 4)
    card["calibration"] = {"method": "temperature fitted on the validation images", "temperature": temperature}
    known = Familiarity.fit(
        features(model, task.normalise(garments.train_images[:KNOWN])), garments.train_labels[:KNOWN].numpy(), config.classes
    )
    distances = known.distance(features(model, normalised))
    card["strangeness"] = {
        "score": "Mahalanobis distance of the class token's features to the nearest class mean",
        "threshold": round(float(np.quantile(distances, KNOWN_SHARE)), 4),
        "known_share": KNOWN_SHARE,
        "fitted_on": f"{min(KNOWN, len(garments.train_labels)):,} training images, unaugmented",
        **known.to_dict(),
    }
    card["metrics"]["validation"] |= scores(softmax(logits / temperature), truth)
    path = checkpoints.save(name, model, card, folder=folder)
    if test:
        part = read_part(data, "t10k")
        card["data"] += checkpoints.describe_files(file_paths(data, "t10k"))
        classifier = Classifier(checkpoints.load(name, folder=folder))
        card["metrics"]["test"] = evaluate(classifier, part)
        card["mistakes"] = worst_mistakes(classifier, part)
        checkpoints.save(name, model, card, folder=folder)
    return path


def images_of(data: Path, count: int | None, seed: int) -> IdxPart:
    """The training file's images, or `count` of them, the classes in equal numbers."""
    part = read_part(data, "train")
    return part if count is None or count >= len(part) else some_of(part, count, seed=seed)


def held_out_of(count: int | None) -> int:
    """Images to validate on: 5,000, or a tenth of a small run's (a multiple of ten, as every class gives as many)."""
    return VALIDATION if count is None else min(VALIDATION, max(10, count // 100 * 10))


@torch.no_grad()
def features(model: ViT, images: Tensor, *, batch: int = 250) -> Floats:
    """Features that the head reads of normalised images: (n, width)."""
    device = next(model.parameters()).device
    return torch.cat([model.features(part.to(device)).cpu() for part in images.split(batch)]).double().numpy()


def _vit_weights(model: ViT, weights: Weights) -> Weights:
    """An earlier run's weights for the model; the earlier feed-forward networks may be narrower (`core.training.widening`)."""
    # a run with a teacher keeps the ViT's weights as "vit...", beside the "bridge..." that compares it with the teacher
    own = {key.removeprefix("vit."): value for key, value in weights.items() if not key.startswith("bridge.")}
    return widened(own, model.state_dict())


def teacher_entry(name: str, folder: Path) -> dict[str, Any]:
    """Entry of a student's card about its teacher, whose weights are not shipped."""
    card = checkpoints.read_card(name, folder=folder)
    told = {key: card[key] for key in ("name", "command", "config", "parameters", "weights_sha256")}
    return told | {"validation_accuracy": card["metrics"]["validation"]["validation_accuracy"]}
