"""From photos or tracks to a shipped IIGA checkpoint and its card."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from core import checkpoints
from core.device import best_device
from core.models.iiga import IIGA, IIGAConfig
from core.signs import tracks
from core.signs.evaluation import Result, evaluate_photos, evaluate_tracks, fit_least_probability
from core.signs.recogniser import Recogniser
from core.signs.synthetic import clips
from core.signs.synthetic.photo_set import PhotoSet, separate
from core.signs.synthetic.render import Studio
from core.signs.vocabulary import of_sentences
from core.training.card import load_start, origin_entries, rounded_history, save_origin
from core.training.iiga_digits import (
    VOCABULARY,
    ClipsTask,
    DigitsTraining,
    StillsModel,
    StillsTask,
    WholeTask,
    begin_from_stills,
    encode_held_out,
    encode_training,
    hold_out,
    keep_features,
    kept_features,
)
from core.training.iiga_tracks import TracksTask, TracksTraining, begin_local, prepare
from core.training.loop import Callback, LoopSettings, fit

PACKAGES = ("torch", "numpy", "pandas", "pyarrow", "safetensors")
BEAM_POWER = 3.0
"""Of 1, 1.5, 2, 3 and 4 the one with the lowest WER of beam search on the held-out signers, short clips and long rests alike."""


@dataclass(frozen=True, kw_only=True)
class DigitsFiles:
    """Inputs of a run on photos: train and dev photos (dev may be left out), and their manifest for the card."""

    train: PhotoSet
    dev: PhotoSet | None
    described: list[dict[str, str]]


def run_digits(
    name: str,
    files: DigitsFiles,
    config: IIGAConfig,
    how: DigitsTraining,
    stills: LoopSettings,
    attention: LoopSettings,
    polish: LoopSettings | None = None,
    *,
    held_out: float = 0.12,
    folder: Path = checkpoints.FOLDER,
    state: Path | None = None,
    start: Path | None = None,
    callbacks: tuple[Sequence[Callback], Sequence[Callback]] = ((), ()),
) -> Path:
    """Train all stages, score the dev signers once where they are given, and write the checkpoint; returns the card's path.

    Args:
        stills, attention, polish: the loops of the three stages, the third only where it is given; their `steps_per_epoch`
            is filled in here.
        held_out: share of the train signers that both stages are chosen on.
        state: where the first stage keeps what it needs to be resumed; the second, which is short, has its own beside it.
        start: the first stage's state in an earlier run, whose best front end this one begins with; the card describes both runs.
        callbacks: of each stage.
    """
    device = best_device()
    train, checked = hold_out(files.train, held_out)
    studio = Studio(train, separate(train.images), size=config.image_size)
    checked_studio = Studio(checked, separate(checked.images), size=config.image_size)
    torch.manual_seed(how.seed)
    front = StillsModel(config)
    before = None if start is None else load_start(front, start)
    save_origin(state, before)
    task = StillsTask(studio, checked_studio, how)
    first = fit(front, task, _paced(stills, task.steps), device=device, callbacks=callbacks[0], resume_from=state)
    torch.manual_seed(how.seed)
    model = IIGA(config).to(device).eval()
    begin_from_stills(model, front, torch.from_numpy(task.plain[0]))
    model.front.requires_grad_(False)
    kept = None if state is None else state.with_name(state.name + "_features.safetensors")
    if kept is not None and kept.exists():
        features = kept_features(kept)
    else:
        features = {"train": encode_training(model, studio, how), "held_out": encode_held_out(model, checked_studio, how)}
        if kept is not None:
            keep_features(kept, features)
    clip_task = ClipsTask(features["train"], features["held_out"], how)
    second = fit(
        model,
        clip_task,
        _paced(attention, clip_task.steps),
        device=device,
        callbacks=callbacks[1],
        resume_from=None if state is None else state.with_name(state.name + "_attention"),
    )
    model.front.requires_grad_(True)
    third = None
    if polish is not None:
        whole = WholeTask(studio, checked_studio, how)
        third = fit(
            model,
            whole,
            _paced(polish, whole.steps),
            device=device,
            callbacks=callbacks[1],
            resume_from=None if state is None else state.with_name(state.name + "_whole"),
        )
    card: dict[str, Any] = _digits_basics(files, config, how, train, checked) | {
        "training": {**asdict(how), "held_out": held_out, "stills": asdict(stills), "attention": asdict(attention)}
        | ({} if polish is None else {"whole": asdict(polish)}),
        "started_from": before,
        "history": {"stills": rounded_history(first), "attention": rounded_history(second)}
        | ({} if third is None else {"whole": rounded_history(third)}),
        "metrics": {
            "validation": {
                "stills": rounded_history(first)[first.best_epoch],
                "sentences": rounded_history(third or second)[(third or second).best_epoch],
            }
        },
    }
    return _finish_digits(name, model, card, files, checked, folder, count=2 * how.checked)


def go_on_digits(
    name: str,
    files: DigitsFiles,
    start: Path,
    how: DigitsTraining,
    whole: LoopSettings,
    *,
    held_out: float = 0.12,
    folder: Path = checkpoints.FOLDER,
    state: Path | None = None,
    callbacks: Iterable[Callback] = (),
) -> Path:
    """Train a checkpoint's whole network on, on whole clips alone, and write the result; returns the card's path.

    Args:
        start: the card of the checkpoint; the new card describes both runs.
        whole: the loop; its `steps_per_epoch` is filled in here.
    """
    train, checked = hold_out(files.train, held_out)
    earlier = checkpoints.load(start.stem, folder=start.parent)
    config = checkpoints.read_config(earlier.card, IIGA)
    torch.manual_seed(how.seed)
    model = IIGA(config)
    before = load_start(model, start)
    save_origin(state, before)
    studio = Studio(train, separate(train.images), size=config.image_size)
    checked_studio = Studio(checked, separate(checked.images), size=config.image_size)
    task = WholeTask(studio, checked_studio, how)
    progress = fit(model, task, _paced(whole, task.steps), device=best_device(), callbacks=callbacks, resume_from=state)
    history = rounded_history(progress)
    card: dict[str, Any] = _digits_basics(files, config, how, train, checked) | {
        "training": {**asdict(how), "held_out": held_out, "whole": asdict(whole)},
        "started_from": before,
        "history": {"whole": history},
        "metrics": {"validation": {"sentences": history[progress.best_epoch]}},
    }
    return _finish_digits(name, model, card, files, checked, folder, count=2 * how.checked)


def _digits_basics(
    files: DigitsFiles, config: IIGAConfig, how: DigitsTraining, train: PhotoSet, checked: PhotoSet
) -> dict[str, Any]:
    """Entries of the card of every run on photos."""
    return {
        **origin_entries(config, seed=how.seed, packages=PACKAGES),
        "task": "digits on video",
        "vocabulary": list(VOCABULARY.glosses),
        "fps": clips.FPS,
        "stride": 1,
        "input": f"frames {config.image_size} x {config.image_size}, RGB, about {clips.FPS:g} a second",
        "data": files.described,
        "split": f"by signer: {len(np.unique(train.signers))} signers ({len(train)} photos) to learn from, the last "
        f"{len(np.unique(checked.signers))} of the train signers ({len(checked)} photos) to choose on, dev signers read once",
        "clips": "synthetic sentences of real photos: core/signs/synthetic/clips.py puts them together from photos of one signer",
        "clip_seed": clips.SEED,
        "varieties": {"scoring": asdict(clips.SCORING), "training": [asdict(clips.TRAINING), asdict(clips.PLAIN)]},
    }


def _finish_digits(
    name: str, model: IIGA, card: dict[str, Any], files: DigitsFiles, checked: PhotoSet, folder: Path, *, count: int
) -> Path:
    """Write the checkpoint with decoding rules fitted on the held-out signers, and score the dev signers once where given."""
    path = checkpoints.save(name, model, card, folder=folder)
    card["decoding"] = decoding_rules(Recogniser(checkpoints.load(name, folder=folder)), checked, count=count)
    checkpoints.save(name, model, card, folder=folder)
    if files.dev is not None:
        recogniser = Recogniser(checkpoints.load(name, folder=folder))
        card["metrics"]["dev"] = {"what": card["clips"], **evaluate_photos(recogniser, files.dev).summary()}
        hard = evaluate_photos(recogniser, files.dev, variety=clips.TRAINING, count=100)
        card["metrics"]["dev_hard"] = {"what": "100 clips as varied as the hardest of training", **hard.summary()}
        checkpoints.save(name, model, card, folder=folder)
    return path


def decoding_rules(recogniser: Recogniser, checked: PhotoSet, *, count: int) -> dict[str, Any]:
    """The card's `decoding` of a model of photos, fitted on `count` clips: `Recogniser.least_probability` and `beam_power`."""
    return {
        "least_probability": fit_least_probability(recogniser, checked, count=count),
        "beam_power": BEAM_POWER,
        "chosen_on": f"{count} clips of the train signers held out: 99 % of the rightly read glosses reach the least probability",
    }


def run_tracks(
    name: str,
    folder_of_data: Path,
    config: IIGAConfig,
    how: TracksTraining,
    loop: LoopSettings,
    *,
    held_out: int = 0,
    test: bool = True,
    folder: Path = checkpoints.FOLDER,
    state: Path | None = None,
    start: Path | None = None,
    chosen_on: dict[str, Any] | None = None,
    callbacks: Iterable[Callback] = (),
) -> Path:
    """Train on tracked sentences and write the checkpoint; returns the card's path.

    Args:
        config: its vocabulary is taken from the sentences.
        held_out: sentences of train to choose on; 0 trains on all of them for the epochs given and keeps the last weights.
        test: read the test sentences, once, for the card.
        start: the state of an earlier run, whose best weights this one begins with; the card describes both runs.
        chosen_on: what the settings were chosen on, for the card.
    """
    sentences = tracks.read_sentences(folder_of_data, "train")
    vocabulary = of_sentences([one.glosses for one in sentences])
    config = IIGAConfig(**{**config.to_dict(), "vocabulary": len(vocabulary), "track_features": tracks.FEATURES})
    scales = tracks.fit_scales(sentences)
    order = np.random.default_rng(how.seed).permutation(len(sentences))
    prepared = [prepare(sentences[i], vocabulary, scales) for i in order]
    task = TracksTask(prepared[held_out:], prepared[:held_out], how)
    torch.manual_seed(how.seed)
    model = IIGA(config)
    begin_local(model, share=how.begin_share, gain=how.begin_gain)
    before = None if start is None else load_start(model, start)
    save_origin(state, before)
    progress = fit(model, task, _paced(loop, task.steps), device=best_device(), callbacks=callbacks, resume_from=state)
    history = rounded_history(progress)
    split = f"{len(task.train)} train sentences to learn from"
    split += f", {held_out} to choose on" if held_out else ", for a number of epochs chosen before"
    card: dict[str, Any] = {
        **origin_entries(config, seed=how.seed, started_from=before, packages=PACKAGES),
        "task": "ASL sentences on tracks",
        "vocabulary": list(vocabulary.glosses),
        "fps": tracks.FPS,
        "stride": tracks.STRIDE,
        "input": f"tracks of both hands and the nose at {tracks.FPS:g} frames a second: {', '.join(tracks.COLUMNS)}, pixels",
        "scales": {speaker: asdict(scale) for speaker, scale in scales.items()},
        "training_sentences": [" ".join(one.glosses) for one in sentences],
        "data": checkpoints.describe_files(
            folder_of_data / file
            for file in ("sentences_train.tsv", "sentences_test.tsv", "hands_condensed.csv", "train_words.csv")
        ),
        "split": f"{split}; the test sentences are read once, after training",
        "training": {**asdict(how), **asdict(loop), "held_out": held_out},
        "history": history,
        "metrics": {"validation": chosen_on or history[progress.best_epoch]},
    }
    path = checkpoints.save(name, model, card, folder=folder)
    if test:
        found = evaluate_tracks(Recogniser(checkpoints.load(name, folder=folder)), tracks.read_sentences(folder_of_data, "test"))
        card["metrics"]["test"] = test_summary(found, card["training_sentences"])
        checkpoints.save(name, model, card, folder=folder)
    return path


def test_summary(found: Result, training_sentences: Sequence[str]) -> dict[str, Any]:
    """WER on all test sentences, and on those that do not occur in training."""
    unseen = found.unseen(set(training_sentences))
    summary: dict[str, Any] = {**found.summary(), "unseen_sentences": len(unseen)}
    if unseen:
        summary["wer_unseen"] = round(found.wer_of(unseen), 6)
    return summary


def _paced(loop: LoopSettings, steps: int) -> LoopSettings:
    return LoopSettings(**{**asdict(loop), "steps_per_epoch": steps})
