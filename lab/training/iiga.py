"""IIGA on photographed digits, from files to a checkpoint, and the options that it shares with `lab.training.iiga_tracks`.

The front end learns from single frames, each in a light and framing of its own. Then it rests: clips pass through it once, and
positions, attention and decoder learn by CTC from what comes out, which takes minutes instead of hours. Last, all of it learns
from whole clips: what a change from one digit to another looks like, which no single frame says.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from core import checkpoints
from core.device import best_device
from core.models.iiga import IIGA, FrameEncoder, IIGAConfig, IIGASublayer
from core.signs.recogniser import Recogniser
from core.signs.vocabulary import BLANK, Vocabulary
from core.training import recipe
from core.training.card import begun, origin_entries, rounded_history, save
from core.training.loop import Batch, LoopSettings, TrainingProgress, fit
from lab.signs.clips import (
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
from lab.signs.evaluation import evaluate_photos, fit_least_probability
from lab.signs.photo_set import MANIFEST, PhotoSet, separate
from lab.signs.render import Studio
from lab.training import iiga_tracks
from lab.training.iiga_tracks import TracksTraining
from lab.training.sentences import Row, SentenceTask, SentenceTraining, collate, error_rate, shrink_sublayers

DEFAULTS: Final = {
    "name": ("iiga_digits", "iiga_asl"),
    "epochs": (50, 100),
    "width": (128, 96),
    "rate": (2.5e-3, 1.5e-3),
    "weight_decay": (0.05, 0.02),
    "warmup": (100, 50),
    "batch": (32, 16),
    "held_out": (0.12, 0),
}
"""Option -> its value for photos, and for tracks."""
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
class DigitsTraining(SentenceTraining):
    """Settings of the training stages.

    Attributes:
        hard: share of the stills that vary most. empty: share of those that show no whole digit.
        clips: clips whose features the second stage learns from. noise: added to those features, as a share of their spread.
        polish: clips a batch of the third stage. polish_hard: share of them that vary most.
        held_out: share of the train signers that all stages are chosen on. checked: clips of theirs for the second stage.
    """

    hard: float = 0.34
    empty: float = 0.12
    clips: int = 160
    noise: float = 0.1
    polish: int = 4
    polish_hard: float = 0.15
    frames_weight: float = 0.3
    checked: int = 60


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
    shrink_sublayers(model, share)
    for layer in model.layers:
        assert isinstance(layer, IIGASublayer)
        layer.norm1.weight.fill_(size)
        layer.norm2.weight.fill_(size)
    model.decoder.weight.copy_(stills.head.weight / scale)
    model.decoder.bias.copy_(stills.head.bias)


class StillsTask:
    """The first stage."""

    def __init__(self, train: Studio, held_out: Studio, how: DigitsTraining) -> None:
        self.train, self.how = train, how
        self.steps = max(1, len(train.photos) // how.batch)  # every photo about once
        places = np.tile(np.arange(len(held_out.photos)), 2)
        self.plain = make_stills(held_out, places, SCORING, seed=11, empty=0.0)
        self.hard = make_stills(held_out, places, TRAINING, seed=12, empty=0.0)

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


@torch.no_grad()
def encode(model: IIGA, clip: SyntheticClip) -> Row:
    """A clip after the front end: (T, D), a class a frame, and the sentence's indices."""
    frames, labels, target = _row(clip)
    return model.encode(torch.from_numpy(frames)[None])[0], labels, target


def _row(clip: SyntheticClip) -> Row:
    return clip.frames, classes(clip.labels), VOCABULARY.encode([str(digit) for digit in clip.digits])


class ClipsTask(SentenceTask):
    """The second stage: attention and decoder on encoded clips."""

    how: DigitsTraining

    def __init__(self, train: Sequence[Row], held_out: Sequence[Row], how: DigitsTraining) -> None:
        self.train, self.how, self.steps = train, how, -(-len(train) // CLIPS_A_BATCH)
        self.held_out = [(encoded, target) for encoded, _, target in held_out]
        self.spread = torch.cat([encoded for encoded, _, _ in train]).std(dim=0)

    def batches(self, epoch: int) -> Iterable[Batch]:
        """Every clip once, features with noise."""
        random = torch.Generator().manual_seed(self.how.seed * 100_003 + epoch)
        for some in torch.randperm(len(self.train), generator=random).split(CLIPS_A_BATCH):
            x, *others = collate([self.train[int(place)] for place in some])
            yield x + torch.randn(x.shape, generator=random) * self.spread * self.how.noise, *others

    def logits(self, model: nn.Module, batch: Batch) -> Tensor:
        """Of clips that are encoded."""
        assert isinstance(model, IIGA)
        logits, _maps = model.attend(batch[0], batch[1])
        return logits

    def validate(self, model: nn.Module) -> dict[str, float]:
        """WER of the best path on the held-out signers' clips."""
        assert isinstance(model, IIGA)
        wer = error_rate(lambda encoded: model.attend(encoded)[0], self.held_out)
        return {"score": -wer, "wer": wer}


class WholeTask(SentenceTask):
    """The third stage: everything on whole clips, new ones in every batch. Batch norms keep their running statistics."""

    how: DigitsTraining
    steps = POLISH_STEPS

    def __init__(self, train: Studio, held_out: Studio, how: DigitsTraining) -> None:
        self.train, self.how = train, how
        clips = make_clips(held_out, how.checked, seed=how.seed + 2, variety=SCORING)
        hard = make_clips(held_out, how.checked // 2, seed=how.seed + 3, variety=TRAINING)
        self.clips, self.hard = ([_row(clip)[::2] for clip in some] for some in (clips, hard))

    def batches(self, epoch: int) -> Iterable[Batch]:
        """`POLISH_STEPS` batches of new clips."""
        random = np.random.default_rng((self.how.seed, 3, epoch))
        for _ in range(self.steps):
            rows = []
            for chosen in sentences(self.train.photos, self.how.polish, seed=int(random.integers(2**31)), digits=(2, 5)):
                variety = TRAINING if random.random() < self.how.polish_hard else PLAIN
                rows.append(_row(make_clip(self.train, chosen, variety, seed=int(random.integers(2**31)))))
            yield collate(rows)

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """As of every sentence."""
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()  # frames of four clips are too alike to take statistics from
        return super().loss(model, batch)

    def validate(self, model: nn.Module) -> dict[str, float]:
        """WER of the best path on the held-out signers' clips, as they score and as varied as the hardest of training."""
        plain, hard = error_rate(model, self.clips), error_rate(model, self.hard)
        return {"score": -plain - HARD_SHARE * hard, "wer": plain, "wer_hard": hard}


@dataclass(frozen=True, kw_only=True)
class DigitsFiles:
    """Inputs of a run on photos: train and dev photos (dev may be left out), and their manifest for the card."""

    train: PhotoSet
    dev: PhotoSet | None
    described: list[dict[str, str]]


def train(
    run: recipe.TrainingRun, files: DigitsFiles, config: IIGAConfig, how: DigitsTraining, stages: Mapping[str, LoopSettings]
) -> Path:
    """Train the stages given, score the dev signers once where they are given, and write the checkpoint; returns the card's path.

    The run's state is the first stage's. A start is an earlier run's, whose best front end this one begins with, or the card of a
    checkpoint, which is then trained on.

    Args:
        stages: the loops of "stills" and "attention", or neither where a card is trained on; and of "whole".
    """
    learnt, checked = hold_out(files.train, how.held_out)
    studio, checked_studio = (Studio(part, separate(part.images), size=config.image_size) for part in (learnt, checked))
    torch.manual_seed(how.seed)
    loops: dict[str, LoopSettings] = {}
    done: dict[str, TrainingProgress] = {}

    def learn(name: str, network: nn.Module, task: StillsTask | ClipsTask | WholeTask, ending: str = "") -> None:
        """Run a stage; its state lies beside the run's, with this ending."""
        loops[name] = replace(stages[name], steps_per_epoch=task.steps)
        state = None if run.state is None else run.state.with_name(run.state.name + ending)
        done[name] = fit(network, task, loops[name], device=best_device(), callbacks=run.callbacks, resume_from=state)

    if "stills" in stages:
        front = StillsModel(config)
        before = begun(run, front)
        task = StillsTask(studio, checked_studio, how)
        learn("stills", front, task)
        torch.manual_seed(how.seed)
        model = IIGA(config).to(best_device()).eval()
        begin_from_stills(model, front, torch.from_numpy(task.plain[0]))
        model.front.requires_grad_(False)
        chosen = enumerate(sentences(studio.photos, how.clips, seed=how.seed + 1, digits=(1, 6)))
        seeds = (how.seed + 1) * 1_000_003
        encoded = [encode(model, make_clip(studio, one, PLAIN, seed=seeds + place)) for place, one in chosen]
        held = [encode(model, clip) for clip in make_clips(checked_studio, how.checked, seed=how.seed + 2, variety=SCORING)]
        learn("attention", model, ClipsTask(encoded, held, how), "_attention")
        model.front.requires_grad_(True)
    else:
        model = IIGA(config)
        before = begun(run, model)
    if "whole" in stages:
        learn("whole", model, WholeTask(studio, checked_studio, how), "_whole" if done else "")
    history = {name: rounded_history(progress) for name, progress in done.items()}
    best = {name: rows[done[name].best_epoch] for name, rows in history.items()}
    stills = {"stills": best["stills"]} if "stills" in best else {}
    card: dict[str, Any] = _digits_basics(files, config, how, learnt, checked) | {
        "training": asdict(how) | {name: asdict(loop) for name, loop in loops.items()},
        "started_from": before,
        "history": history,
        "metrics": {"validation": {**stills, "sentences": list(best.values())[-1]}},
    }
    return _finish_digits(run, model, card, files, checked, count=2 * how.checked)


def _digits_basics(
    files: DigitsFiles, config: IIGAConfig, how: DigitsTraining, train: PhotoSet, checked: PhotoSet
) -> dict[str, Any]:
    """Entries of the card of every run on photos."""
    return {
        **origin_entries(config, seed=how.seed),
        "task": "digits on video",
        "vocabulary": list(VOCABULARY.glosses),
        "fps": FPS,
        "stride": 1,
        "input": f"frames {config.image_size} x {config.image_size}, RGB, about {FPS:g} a second",
        "data": files.described,
        "split": f"by signer: {len(np.unique(train.signers))} signers ({len(train)} photos) to learn from, the last "
        f"{len(np.unique(checked.signers))} of the train signers ({len(checked)} photos) to choose on, dev signers read once",
        "clips": "synthetic sentences of real photos: lab/signs/clips.py puts them together from photos of one signer",
        "clip_seed": SEED,
        "varieties": {"scoring": asdict(SCORING), "training": [asdict(TRAINING), asdict(PLAIN)]},
    }


def _finish_digits(
    run: recipe.TrainingRun, model: IIGA, card: dict[str, Any], files: DigitsFiles, checked: PhotoSet, *, count: int
) -> Path:
    """Write the checkpoint with decoding rules fitted on the held-out signers, and score the dev signers once where given."""
    checkpoints.save(run.name, model, card, folder=run.folder)
    unruled = Recogniser(checkpoints.load(run.name, folder=run.folder))
    card["decoding"] = {
        "least_probability": fit_least_probability(unruled, checked, count=count),
        "chosen_on": f"{count} clips of the train signers held out: 99 % of the rightly read glosses reach the least probability",
    }

    def test(checkpoint: checkpoints.Checkpoint) -> dict[str, Any]:
        if files.dev is None:
            return {}
        recogniser = Recogniser(checkpoint)
        plain = evaluate_photos(recogniser, files.dev).summary()
        hard = evaluate_photos(recogniser, files.dev, variety=TRAINING, count=100).summary()
        what = "100 clips as varied as the hardest of training"
        return {"dev": {"what": card["clips"], **plain}, "dev_hard": {"what": what, **hard}}

    return save(run, model, card, test)


def add_options(p: argparse.ArgumentParser) -> None:
    """Options of the command."""
    p.add_argument("--data", required=True, type=Path, metavar="DIR", help="folder of photos or of tracked sentences")
    recipe.add_run(p, name=str, rate=float, weight_decay=float, ema=0.99, warmup=int)
    recipe.add_rows(
        p,
        ("epochs", int, "of the stills (photos), or of the sentences (tracks)"),
        ("width", int, "D"),
        ("heads", 4, "N"),
        ("layers", 2, "L"),
        ("window", 4, "w of intra-gloss attention, frames to either side"),
        ("dropout", 0.1, None),
        ("batch", int, "stills or sentences a batch"),
        ("held-out", float, "share of signers, or number of sentences, to choose on"),
        ("start", Path, "begin with the weights of the run with this state, or of photos with this card's, on whole clips alone"),
    )
    recipe.add_test(p, part="dev signers or test sentences once")
    recipe.add_rows(
        p.add_argument_group("photos"),
        ("image-size", 64, None),
        ("width-multiplier", 0.5, "of MobileNetV2"),
        ("image-channels", 320, "MobileNetV2's last channels"),
        ("empty", 0.12, "share of the stills that show no whole digit"),
        ("clips", 160, "clips that attention learns from"),
        ("clip-epochs", 25, "epochs of the attention"),
        ("whole-epochs", 8, "of all of it on whole clips, 25 batches each; 0 for none"),
        ("whole-rate", 7e-5, "peak rate of those"),
        ("whole-hard", 0.15, "share of those clips that vary most"),
        ("whole-ema", 0.98, "decay of the weights' moving average in those"),
        ("checked", 60, "clips of the held-out signers that weights are chosen on"),
    )


def _settle(o: argparse.Namespace) -> None:
    """Give the options that were left out the values of their kind of data."""
    o.photos = is_photos(o.data)
    for option, (of_photos, of_tracks) in DEFAULTS.items():
        if getattr(o, option) is None:
            setattr(o, option, of_photos if o.photos else of_tracks)


def _run(o: argparse.Namespace, files: DigitsFiles | None) -> Path:
    return _tracks(o) if files is None else _photos(o, files)


def _photos(o: argparse.Namespace, files: DigitsFiles) -> Path:
    how = recipe.from_options(DigitsTraining, o, polish_hard=o.whole_hard)
    stages: dict[str, LoopSettings] = {}
    later = {"weight_decay": 0.02, "steps_per_epoch": 1}  # of the stages after the first; each counts its own steps
    if o.start is not None and o.start.suffix == ".json":
        if not o.whole_epochs:
            raise SystemExit("nothing to train: --start with a card trains on whole clips, so --whole-epochs must be 1 or more")
        config = checkpoints.read_config(checkpoints.load(o.start.stem, folder=o.start.parent).card, IIGA)
    else:
        config = recipe.from_options(IIGAConfig, o, front="frames", vocabulary=len(VOCABULARY), expansion=2)
        stages["stills"] = recipe.loop_of(o, steps=1)
        stages["attention"] = recipe.from_options(LoopSettings, o, epochs=o.clip_epochs, peak_rate=1e-3, warmup=20, **later)
    if o.whole_epochs:
        later["steps_per_epoch"] = POLISH_STEPS
        stages["whole"] = recipe.from_options(
            LoopSettings, o, epochs=o.whole_epochs, peak_rate=o.whole_rate, ema=o.whole_ema, warmup=25, **later
        )
    run = recipe.run_of(o, None if "stills" in stages else stages["whole"])
    return train(run, files, config, how, stages)


def _tracks(o: argparse.Namespace) -> Path:
    shape = {key: getattr(o, key) for key in ("width", "heads", "layers", "window", "dropout")}
    config = IIGAConfig(**shape, front="tracks", expansion=2, track_convolutions=2)
    how = TracksTraining(batch=o.batch, held_out=int(o.held_out), seed=o.seed)
    return iiga_tracks.train(recipe.run_of(o, None), o.data, config, how, recipe.loop_of(o, steps=1))


RECIPES = {
    "iiga": recipe.TrainingRecipe(
        add_options=add_options,
        run=_run,
        settle=_settle,
        description="Train IIGA on a folder of photos (manifest.csv) or of tracked sentences (hands_condensed.csv). "
        "Options left out take the values of the shipped checkpoint of that kind.",
    )
}
