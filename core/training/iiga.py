"""IIGA on photographed digits, from files to a checkpoint, and the options that it shares with `core.training.iiga_tracks`.

The front end learns from single frames, each in a light and framing of its own. Then it rests: clips pass through it once, and
positions, attention and decoder learn by CTC from what comes out, which takes minutes instead of hours. Last, all of it learns
from whole clips: what a change from one digit to another looks like, which no single frame says.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from core import checkpoints
from core.device import best_device
from core.models.iiga import IIGA, FrameEncoder, IIGAConfig, IIGASublayer
from core.nn import AttentionMaps
from core.signs.decoding import greedy
from core.signs.edits import word_error_rate
from core.signs.evaluation import evaluate_photos, fit_least_probability
from core.signs.recogniser import Recogniser
from core.signs.synthetic.clips import (
    BETWEEN,
    FPS,
    PLAIN,
    SCORING,
    SEED,
    TRAINING,
    SyntheticClip,
    make_clip,
    make_clips,
    make_stills,
    sentences,
)
from core.signs.synthetic.photo_set import PhotoSet, separate
from core.signs.synthetic.render import Studio
from core.signs.vocabulary import BLANK, Vocabulary
from core.training import iiga_tracks
from core.training.card import load_start, origin_entries, rounded_history, save_origin
from core.training.iiga_tracks import IGNORED, PACKAGES, TracksRun, TracksTraining, ctc
from core.training.loop import Batch, LoopSettings, fit
from core.training.progress import progress_bar
from core.training.recipe import (
    TrainingRecipe,
    TrainingRun,
    add_checkpoint_output,
    add_optimiser,
    add_rows,
    add_run,
    add_test,
    loop_of,
    taken,
)

MANIFEST: Final = "manifest.csv"
"""File of a folder of photographed digits."""
BEAM_POWER = 3.0
"""Of 1, 1.5, 2, 3 and 4 the one with the lowest WER of beam search on the held-out signers, short clips and long rests alike."""
PHOTO_DEFAULTS: Final = {
    "name": "iiga_digits", "epochs": 50, "width": 128, "window": 4, "dropout": 0.1, "rate": 2.5e-3, "ema": 0.99,
    "weight_decay": 0.05, "warmup": 100, "batch": 32, "held_out": 0.12,
}  # fmt: skip
TRACK_DEFAULTS: Final = {
    "name": "iiga_asl", "epochs": 100, "width": 96, "window": 4, "dropout": 0.1, "rate": 1.5e-3, "ema": 0.99,
    "weight_decay": 0.02, "warmup": 50, "batch": 16, "held_out": 0,
}  # fmt: skip
HARD_SHARE = 0.25
"""Weight of the hardest clips beside the plain ones in the third stage's score: a clip that someone films is neither."""
POLISH_STEPS = 25
"""Batches between two validations in the third stage."""

VOCABULARY = Vocabulary(tuple(str(digit) for digit in range(10)))
"""Index 1 is the digit 0, and so on."""
CLIPS_A_BATCH = 16


def is_photos(folder: Path) -> bool:
    """Tells whether a folder holds photos rather than tracks.

    Raises:
        ValueError: where it holds neither.
    """
    if (folder / MANIFEST).exists():
        return True
    if (folder / "hands_condensed.csv").exists():
        return False
    raise ValueError(
        f"{folder.name or folder} holds neither manifest.csv (photographed digits) nor hands_condensed.csv (tracked sentences)"
    )


@dataclass(frozen=True, kw_only=True)
class DigitsTraining:
    """Settings of the training stages.

    Attributes:
        batch: stills a batch. hard: share of the stills that vary most. hard_clips: the same of the clips.
        empty: share of the stills that show no whole digit. smoothing: label smoothing of the stills' loss.
        clips: clips whose features the second stage learns from. noise: added to those features, as a share of their spread.
        polish: clips a batch of the third stage. polish_hard: share of them that vary most.
        frames_weight: weight of the second stage's frame-wise loss beside CTC.
        checked: clips of the held-out signers that the second stage is chosen on.
    """

    batch: int = 32
    hard: float = 0.34
    hard_clips: float = 0.0
    empty: float = 0.12
    smoothing: float = 0.1
    clips: int = 160
    noise: float = 0.1
    polish: int = 4
    polish_hard: float = 0.15
    frames_weight: float = 0.3
    checked: int = 60
    seed: int = 0


def hold_out(photos: PhotoSet, share: float) -> tuple[PhotoSet, PhotoSet]:
    """Train on the first signers, choose on the last: a person whose photos carry two numbers has them side by side."""
    signers = np.unique(photos.signers)
    cut = round(len(signers) * (1 - share))
    if not 0 < cut < len(signers):
        raise ValueError(f"{len(signers)} signers cannot be parted so that {share:.0%} of them are held out")
    return photos.of(signers[:cut]), photos.of(signers[cut:])


class StillsModel(nn.Module):
    """The front end of an IIGA and a classifier of single frames: ten digits and "none"."""

    def __init__(self, config: IIGAConfig) -> None:
        super().__init__()
        self.front = FrameEncoder(config).to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stub forgets it
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(config.width, len(VOCABULARY))

    def forward(self, frames: Tensor) -> Tensor:
        """(n, S, S, 3) uint8 -> (n, 11), index 0 for "none"."""
        x = self.front.pictures(frames).contiguous(memory_format=torch.channels_last)
        return self.head(self.dropout(self.front.project(self.front.cnn(x))))


@torch.no_grad()
def begin_from_stills(model: IIGA, stills: StillsModel, frames: Tensor, *, size: float = 4.0, share: float = 0.05) -> None:
    """Start an IIGA as the classifier of single frames that `stills` is, its "none" being the blank.

    The features are scaled to a size that stands out from the positions, which the LayerNorms and the decoder know of;
    what each sub-layer adds begins at a share of its size. Attention then has only to learn what frames do not say by themselves.

    Args:
        frames: some (n, S, S, 3) to measure the features on.
    """
    assert isinstance(model.front, FrameEncoder) and isinstance(model.front.project, nn.Linear)
    model.front.load_state_dict(stills.front.state_dict())
    features = model.front.project(model.front.cnn(model.front.pictures(frames)))
    scale = size / float(features.std(dim=1).mean())
    model.front.project.weight.mul_(scale)
    model.front.project.bias.mul_(scale)
    for layer in model.layers:
        assert isinstance(layer, IIGASublayer)
        layer.attention.out.weight.mul_(share)
        layer.ffn.fc2.weight.mul_(share)
        layer.norm1.weight.fill_(size)
        layer.norm2.weight.fill_(size)
    model.decoder.weight.copy_(stills.head.weight / scale)
    model.decoder.bias.copy_(stills.head.bias)


class StillsTask:
    """The first stage."""

    def __init__(self, train: Studio, held_out: Studio, how: DigitsTraining) -> None:
        self.train, self.how = train, how
        places = np.tile(np.arange(len(held_out.photos)), 2)
        self.plain = make_stills(held_out, places, SCORING, seed=11, empty=0.0)
        self.hard = make_stills(held_out, places, TRAINING, seed=12, empty=0.0)

    @property
    def steps(self) -> int:
        """Batches an epoch: every photo about once."""
        return max(1, len(self.train.photos) // self.how.batch)

    def batches(self, epoch: int) -> Iterable[Batch]:
        """Every photo once, in a new light and framing."""
        random = np.random.default_rng((self.how.seed, epoch))
        order = random.permutation(len(self.train.photos))
        hard = round(self.how.batch * self.how.hard)
        for step in range(self.steps):
            chosen = order[step * self.how.batch : (step + 1) * self.how.batch]
            parts = [
                make_stills(self.train, some, variety, seed=int(random.integers(2**31)), empty=self.how.empty)
                for some, variety in ((chosen[:hard], TRAINING), (chosen[hard:], PLAIN))
                if len(some)
            ]
            frames, labels = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
            yield torch.from_numpy(frames), torch.from_numpy(classes(labels))

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """Cross-entropy of single frames."""
        frames, labels = batch
        return F.cross_entropy(model(frames), labels, label_smoothing=self.how.smoothing)

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Share of the held-out signers' stills classified rightly, in plain and in hard light."""
        scores = {}
        for name, (frames, labels) in (("plain", self.plain), ("hard", self.hard)):
            parts = [model(torch.from_numpy(some)).argmax(dim=1) for some in np.array_split(frames, -(-len(frames) // 64))]
            scores[name] = float((torch.cat(parts).numpy() == classes(labels)).mean())
        return {"score": scores["plain"] + 0.5 * scores["hard"], **scores}


def classes(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Digits -> indices of `VOCABULARY`; BETWEEN -> the blank."""
    return np.where(labels == BETWEEN, BLANK, labels + 1)


@dataclass(frozen=True, kw_only=True)
class Features:
    """A clip after the front end: (T, D), a class a frame, and the sentence's indices."""

    encoded: Tensor
    labels: Tensor
    target: list[int]


@torch.no_grad()
def encode(model: IIGA, clip: SyntheticClip) -> Features:
    """Pass one clip through the front end."""
    return Features(
        encoded=model.encode(torch.from_numpy(clip.frames)[None])[0],
        labels=torch.from_numpy(classes(clip.labels)),
        target=_target(clip),
    )


def encode_training(
    model: IIGA, studio: Studio, how: DigitsTraining, *, progress: Callable[[int, int], None] = lambda done, total: None
) -> list[Features]:
    """The clips that the second stage learns from, after the front end."""
    encoded = []
    for place, (signer, chosen) in enumerate(sentences(studio.photos, how.clips, seed=how.seed + 1, digits=(1, 6))):
        variety = TRAINING if place % 100 < 100 * how.hard_clips else PLAIN
        encoded.append(encode(model, make_clip(studio, signer, chosen, variety, seed=(how.seed + 1) * 1_000_003 + place)))
        progress(place + 1, how.clips)
    return encoded


def encode_held_out(model: IIGA, studio: Studio, how: DigitsTraining) -> list[Features]:
    """The clips that the second stage is chosen on: as those that score, but of the held-out signers."""
    return [encode(model, clip) for clip in make_clips(studio, how.checked, seed=how.seed + 2, variety=SCORING)]


def keep_features(path: Path, parts: dict[str, list[Features]]) -> None:
    """Write clips' features to a safetensors file, for a run that goes on later."""
    tensors: dict[str, torch.Tensor] = {}
    for part, clips in parts.items():
        for place, one in enumerate(clips):
            values = {"x": one.encoded, "y": one.labels, "z": torch.tensor(one.target)}
            tensors |= {f"{part}/{place:05d}/{key}": value for key, value in values.items()}
    save_file(tensors, path)


def kept_features(path: Path) -> dict[str, list[Features]]:
    """Read what `keep_features` wrote."""
    tensors = load_file(path)
    by_part: dict[str, list[Features]] = {}
    for key in sorted(name.removesuffix("/x") for name in tensors if name.endswith("/x")):
        one = Features(encoded=tensors[f"{key}/x"], labels=tensors[f"{key}/y"], target=tensors[f"{key}/z"].tolist())
        by_part.setdefault(key.split("/")[0], []).append(one)
    return by_part


class ClipsTask:
    """The second stage: attention and decoder on features of clips."""

    def __init__(self, train: list[Features], held_out: list[Features], how: DigitsTraining) -> None:
        self.train, self.held_out, self.how = train, held_out, how
        self.spread = torch.cat([one.encoded for one in train]).std(dim=0)

    @property
    def steps(self) -> int:
        """Batches an epoch."""
        return -(-len(self.train) // CLIPS_A_BATCH)

    def batches(self, epoch: int) -> Iterable[Batch]:
        """Every clip once, features with noise."""
        random = torch.Generator().manual_seed(self.how.seed * 100_003 + epoch)
        order = torch.randperm(len(self.train), generator=random)
        for some in order.split(CLIPS_A_BATCH):
            rows = [self.train[int(i)] for i in some]
            x = nn.utils.rnn.pad_sequence([one.encoded for one in rows], batch_first=True)
            x = x + torch.randn(x.shape, generator=random) * self.spread * self.how.noise
            labels = nn.utils.rnn.pad_sequence([one.labels for one in rows], batch_first=True, padding_value=IGNORED)
            targets = torch.tensor([label for one in rows for label in one.target])
            yield (
                x,
                torch.tensor([len(one.encoded) for one in rows]),
                labels,
                targets,
                torch.tensor([len(one.target) for one in rows]),
            )

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """CTC, and cross-entropy of the frames."""
        assert isinstance(model, IIGA)
        return _loss(model.attend(batch[0], batch[1]), batch, self.how)

    def validate(self, model: nn.Module) -> dict[str, float]:
        """WER of the best path on the held-out signers' clips."""
        assert isinstance(model, IIGA)
        return _wer([(model.attend(one.encoded[None]), one.target) for one in self.held_out])


class WholeTask:
    """The third stage: everything on whole clips, new ones in every batch. Batch norms keep their running statistics."""

    def __init__(self, train: Studio, held_out: Studio, how: DigitsTraining) -> None:
        self.train, self.how = train, how
        self.clips = list(make_clips(held_out, how.checked, seed=how.seed + 2, variety=SCORING))
        self.hard = list(make_clips(held_out, how.checked // 2, seed=how.seed + 3, variety=TRAINING))

    @property
    def steps(self) -> int:
        """Batches an epoch."""
        return POLISH_STEPS

    def batches(self, epoch: int) -> Iterable[Batch]:
        """`POLISH_STEPS` batches of new clips."""
        random = np.random.default_rng((self.how.seed, 3, epoch))
        for _ in range(self.steps):
            rows = []
            for signer, chosen in sentences(self.train.photos, self.how.polish, seed=int(random.integers(2**31)), digits=(2, 5)):
                variety = TRAINING if random.random() < self.how.polish_hard else PLAIN
                rows.append(make_clip(self.train, signer, chosen, variety, seed=int(random.integers(2**31))))
            frames = nn.utils.rnn.pad_sequence([torch.from_numpy(one.frames) for one in rows], batch_first=True)
            labels = [torch.from_numpy(classes(one.labels)) for one in rows]
            targets = [_target(one) for one in rows]
            yield (
                frames,
                torch.tensor([len(one.labels) for one in rows]),
                nn.utils.rnn.pad_sequence(labels, batch_first=True, padding_value=IGNORED),
                torch.tensor([label for target in targets for label in target]),
                torch.tensor([len(target) for target in targets]),
            )

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """CTC, and cross-entropy of the frames."""
        assert isinstance(model, IIGA)
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()  # frames of four clips are too alike to take statistics from
        return _loss(model(batch[0], batch[1]), batch, self.how)

    def validate(self, model: nn.Module) -> dict[str, float]:
        """WER of the best path on the held-out signers' clips, as they score and as varied as the hardest of training."""
        assert isinstance(model, IIGA)
        plain, hard = (
            _wer([(model(torch.from_numpy(clip.frames)[None]), _target(clip)) for clip in clips])
            for clips in (self.clips, self.hard)
        )
        return {"score": plain["score"] + HARD_SHARE * hard["score"], "wer": plain["wer"], "wer_hard": hard["wer"]}


def _target(clip: SyntheticClip) -> list[int]:
    return VOCABULARY.encode([str(digit) for digit in clip.digits])


def _loss(logits: Tensor | tuple[Tensor, AttentionMaps], batch: Batch, how: DigitsTraining) -> Tensor:
    """CTC of the sentences, and cross-entropy of the frames that have a class."""
    assert isinstance(logits, Tensor)
    _, lengths, labels, targets, target_lengths = batch
    frames = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, label_smoothing=how.smoothing)
    return ctc(logits, lengths, targets, target_lengths) + how.frames_weight * frames


def _wer(read: list[tuple[Tensor | tuple[Tensor, AttentionMaps], list[int]]]) -> dict[str, float]:
    """WER of the best path: (1, T, V) logits and the sentence's indices, a pair a clip."""
    sentences = [greedy(logits[0].log_softmax(dim=-1).numpy()) for logits, _ in read if isinstance(logits, Tensor)]
    wer = word_error_rate([target for _, target in read], sentences)
    return {"score": -wer, "wer": wer}


@dataclass(frozen=True, kw_only=True)
class DigitsFiles:
    """Inputs of a run on photos: train and dev photos (dev may be left out), and their manifest for the card."""

    train: PhotoSet
    dev: PhotoSet | None
    described: list[dict[str, str]]


@dataclass(frozen=True, kw_only=True)
class DigitsRun(TrainingRun):
    """A run on photographed digits; `held_out`: share of the train signers that all stages are chosen on."""

    held_out: float = 0.12

    def beside(self, ending: str) -> Path | None:
        """A file beside the state, which is the first stage's."""
        return None if self.state is None else self.state.with_name(self.state.name + ending)


@dataclass(frozen=True, kw_only=True)
class Stages:
    """Loops of the stages, the third only where it is given; their `steps_per_epoch` is filled in by `train`."""

    stills: LoopSettings
    attention: LoopSettings
    whole: LoopSettings | None = None


def train(run: DigitsRun, files: DigitsFiles, config: IIGAConfig, how: DigitsTraining, stages: Stages) -> Path:
    """Train all stages, score the dev signers once where they are given, and write the checkpoint; returns the card's path.

    The run's state is the first stage's; a start is that of an earlier run, whose best front end this one begins with.
    """
    stills, attention, polish = stages.stills, stages.attention, stages.whole
    device = best_device()
    train, checked = hold_out(files.train, run.held_out)
    studio = Studio(train, separate(train.images), size=config.image_size)
    checked_studio = Studio(checked, separate(checked.images), size=config.image_size)
    torch.manual_seed(how.seed)
    front = StillsModel(config)
    before = None if run.start is None else load_start(front, run.start)
    save_origin(run.state, before)
    task = StillsTask(studio, checked_studio, how)
    first = fit(
        front, task, replace(stills, steps_per_epoch=task.steps), device=device, callbacks=run.callbacks, resume_from=run.state
    )
    torch.manual_seed(how.seed)
    model = IIGA(config).to(device).eval()
    begin_from_stills(model, front, torch.from_numpy(task.plain[0]))
    model.front.requires_grad_(False)
    kept = run.beside("_features.safetensors")
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
        replace(attention, steps_per_epoch=clip_task.steps),
        device=device,
        callbacks=run.callbacks,
        resume_from=run.beside("_attention"),
    )
    model.front.requires_grad_(True)
    third = None
    if polish is not None:
        whole = WholeTask(studio, checked_studio, how)
        third = fit(
            model,
            whole,
            replace(polish, steps_per_epoch=whole.steps),
            device=device,
            callbacks=run.callbacks,
            resume_from=run.beside("_whole"),
        )
    card: dict[str, Any] = _digits_basics(files, config, how, train, checked) | {
        "training": {**asdict(how), "held_out": run.held_out, "stills": asdict(stills), "attention": asdict(attention)}
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
    return _finish_digits(run, model, card, files, checked, count=2 * how.checked)


def train_on(run: DigitsRun, files: DigitsFiles, how: DigitsTraining, whole: LoopSettings) -> Path:
    """Train the whole network of the checkpoint that the run starts from on, on whole clips alone; returns the card's path."""
    assert run.start is not None
    train, checked = hold_out(files.train, run.held_out)
    earlier = checkpoints.load(run.start.stem, folder=run.start.parent)
    config = checkpoints.read_config(earlier.card, IIGA)
    torch.manual_seed(how.seed)
    model = IIGA(config)
    before = load_start(model, run.start)
    save_origin(run.state, before)
    studio = Studio(train, separate(train.images), size=config.image_size)
    checked_studio = Studio(checked, separate(checked.images), size=config.image_size)
    task = WholeTask(studio, checked_studio, how)
    progress = fit(
        model,
        task,
        replace(whole, steps_per_epoch=task.steps),
        device=best_device(),
        callbacks=run.callbacks,
        resume_from=run.state,
    )
    history = rounded_history(progress)
    card: dict[str, Any] = _digits_basics(files, config, how, train, checked) | {
        "training": {**asdict(how), "held_out": run.held_out, "whole": asdict(whole)},
        "started_from": before,
        "history": {"whole": history},
        "metrics": {"validation": {"sentences": history[progress.best_epoch]}},
    }
    return _finish_digits(run, model, card, files, checked, count=2 * how.checked)


def _digits_basics(
    files: DigitsFiles, config: IIGAConfig, how: DigitsTraining, train: PhotoSet, checked: PhotoSet
) -> dict[str, Any]:
    """Entries of the card of every run on photos."""
    return {
        **origin_entries(config, seed=how.seed, packages=PACKAGES),
        "task": "digits on video",
        "vocabulary": list(VOCABULARY.glosses),
        "fps": FPS,
        "stride": 1,
        "input": f"frames {config.image_size} x {config.image_size}, RGB, about {FPS:g} a second",
        "data": files.described,
        "split": f"by signer: {len(np.unique(train.signers))} signers ({len(train)} photos) to learn from, the last "
        f"{len(np.unique(checked.signers))} of the train signers ({len(checked)} photos) to choose on, dev signers read once",
        "clips": "synthetic sentences of real photos: core/signs/synthetic/clips.py puts them together from photos of one signer",
        "clip_seed": SEED,
        "varieties": {"scoring": asdict(SCORING), "training": [asdict(TRAINING), asdict(PLAIN)]},
    }


def _finish_digits(
    run: DigitsRun, model: IIGA, card: dict[str, Any], files: DigitsFiles, checked: PhotoSet, *, count: int
) -> Path:
    """Write the checkpoint with decoding rules fitted on the held-out signers, and score the dev signers once where given."""
    path = checkpoints.save(run.name, model, card, folder=run.folder)
    card["decoding"] = decoding_rules(Recogniser(checkpoints.load(run.name, folder=run.folder)), checked, count=count)
    checkpoints.save(run.name, model, card, folder=run.folder)
    if files.dev is not None:
        recogniser = Recogniser(checkpoints.load(run.name, folder=run.folder))
        card["metrics"]["dev"] = {"what": card["clips"], **evaluate_photos(recogniser, files.dev).summary()}
        hard = evaluate_photos(recogniser, files.dev, variety=TRAINING, count=100)
        card["metrics"]["dev_hard"] = {"what": "100 clips as varied as the hardest of training", **hard.summary()}
        checkpoints.save(run.name, model, card, folder=run.folder)
    return path


def decoding_rules(recogniser: Recogniser, checked: PhotoSet, *, count: int) -> dict[str, Any]:
    """The card's `decoding` of a model of photos, fitted on `count` clips: `Recogniser.least_probability` and `beam_power`."""
    return {
        "least_probability": fit_least_probability(recogniser, checked, count=count),
        "beam_power": BEAM_POWER,
        "chosen_on": f"{count} clips of the train signers held out: 99 % of the rightly read glosses reach the least probability",
    }


def add_options(p: argparse.ArgumentParser) -> None:
    """Options of the command."""
    p.add_argument("--data", required=True, type=Path, metavar="DIR", help="folder of photos or of tracked sentences")
    add_checkpoint_output(p, name=None)
    p.add_argument("--epochs", type=int, default=None, help="of the stills (photos), or of the sentences (tracks)")
    p.add_argument("--width", type=int, default=None, help="D")
    add_rows(p, [("heads", 4, "N"), ("layers", 2, "L")])
    p.add_argument("--window", type=int, default=None, help="w of intra-gloss attention, frames to either side")
    add_rows(p, [("expansion", 2, "hidden width of a FFN over D")])
    p.add_argument("--residual", choices=("norm_of_sum", "sum_of_norm"), default="norm_of_sum", help="D15")
    p.add_argument("--dropout", type=float, default=None)
    add_optimiser(p, rate=None, weight_decay=None, ema=None)
    p.add_argument("--batch", type=int, default=None, help="stills or sentences a batch")
    p.add_argument("--held-out", type=float, default=None, help="share of signers, or number of sentences, to choose on")
    add_test(p, part="dev signers or test sentences once")
    add_run(p)
    p.add_argument(
        "--start", type=Path, default=None,
        help="begin with the weights of the run that kept its state here, "
        "or, of photos, with those of the checkpoint whose card this is and train on whole clips alone",
    )  # fmt: skip
    p.add_argument("--warmup", type=int, default=None, help="steps to the peak of the rate")
    rows: list[tuple[str, Any, str | None]] = [
        ("image-size", 64, None),
        ("width-multiplier", 0.5, "of MobileNetV2"),
        ("image-channels", 320, "MobileNetV2's last channels"),
        ("hard", 0.34, "share of the stills that vary most"),
        ("empty", 0.12, "share of the stills that show no whole digit"),
        ("clips", 160, "clips that attention learns from"),
        ("clip-epochs", 25, "epochs of the attention"),
        ("whole-epochs", 8, "of all of it on whole clips, 25 batches each; 0 for none"),
        ("whole-rate", 7e-5, "peak rate of those"),
        ("whole-hard", 0.15, "share of those clips that vary most"),
        ("whole-ema", 0.98, "decay of the weights' moving average in those"),
        ("checked", 60, "clips of the held-out signers that weights are chosen on"),
    ]
    add_rows(p.add_argument_group("photos"), rows)
    tracks = p.add_argument_group("tracks")
    add_rows(tracks, [("convolutions", 2, "of the front end, over time")])
    tracks.add_argument("--vary", type=json.loads, default={}, metavar="JSON", help="settings of TracksTraining, as an object")
    tracks.add_argument("--chosen-on", type=json.loads, default=None, metavar="JSON", help="for the card")


def _settle(o: argparse.Namespace) -> None:
    """Give the options that were left out the values of their kind of data."""
    o.photos = is_photos(o.data)
    for option, value in (PHOTO_DEFAULTS if o.photos else TRACK_DEFAULTS).items():
        if getattr(o, option) is None:
            setattr(o, option, value)


def _run(o: argparse.Namespace, files: DigitsFiles | None) -> Path:
    return _tracks(o) if files is None else _photos(o, files)


def _photos(o: argparse.Namespace, files: DigitsFiles) -> Path:
    first = {"peak_rate": o.rate, "steps_per_epoch": 1}
    stages = Stages(
        stills=taken(LoopSettings, o, **first),
        attention=taken(LoopSettings, o, epochs=o.clip_epochs, peak_rate=1e-3, weight_decay=0.02, warmup=20, steps_per_epoch=1),
        whole=taken(
            LoopSettings,
            o,
            epochs=o.whole_epochs,
            peak_rate=o.whole_rate,
            ema=o.whole_ema,
            weight_decay=0.02,
            warmup=25,
            steps_per_epoch=POLISH_STEPS,
        )
        if o.whole_epochs
        else None,
    )
    how = taken(DigitsTraining, o, polish_hard=o.whole_hard)
    if o.start is not None and o.start.suffix == ".json":
        if stages.whole is None:
            raise SystemExit("nothing to train: --start with a card trains on whole clips, so --whole-epochs must be 1 or more")
        bar = progress_bar(stages.whole, title=o.name)
        return train_on(taken(DigitsRun, o, callbacks=[bar]), files, how, stages.whole)
    config = taken(IIGAConfig, o, front="frames", vocabulary=len(VOCABULARY))
    return train(taken(DigitsRun, o), files, config, how, stages)


def _tracks(o: argparse.Namespace) -> Path:
    how = TracksTraining(**{"batch": o.batch, "seed": o.seed, **o.vary})
    loop = loop_of(o, steps=1)
    shape = {key: getattr(o, key) for key in ("width", "heads", "layers", "window", "expansion", "residual", "dropout")}
    config = IIGAConfig(**shape, front="tracks", track_convolutions=o.convolutions)
    return iiga_tracks.train(taken(TracksRun, o, held_out=int(o.held_out)), o.data, config, how, loop)


RECIPES = {
    "iiga": TrainingRecipe(
        add_options=add_options,
        run=_run,
        settle=_settle,
        description="Train IIGA on a folder of photos (manifest.csv) or of tracked sentences (hands_condensed.csv). "
        "Options left out take the values of the shipped checkpoint of that kind.",
    )
}
