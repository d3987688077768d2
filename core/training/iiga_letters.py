"""IIGA on the letters that a hand spells: stills seen from all sides, streams in which a word grows, and the run to a checkpoint.

The front end learns letters from stills; then it rests, and attention learns from streams what lies between letters.

Few people signed the data, and a camera sees each letter from one side. So every hand is turned in space, tilted, mirrored,
stretched and bent anew each time that it is learnt from. A stream holds letters one after the other; between two the hand changes
shape, and before a doubled letter it slides aside or rests, as signers do.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from core import checkpoints
from core.device import best_device
from core.models.iiga import IIGA, IIGAConfig
from core.signs import letters
from core.signs.hands import photo_landmarks
from core.signs.hands.photo_landmarks import PhotoLandmarks
from core.signs.hands.tracker import LANDMARKS
from core.signs.letters import BEFORE, VOCABULARY, Floats, LetterHands
from core.signs.vocabulary import BLANK
from core.training import recipe
from core.training.card import begun, trained
from core.training.iiga_hands import FILM_SIDE, FPS, read_others
from core.training.loop import Batch, LoopSettings, fit
from core.training.sentences import begin_local, collate, sentence_loss

NEAR_LETTERS: Final = (1, 2, 3)
"""Kinds of gestures that are a letter's own shape, or near to one: a fist, a pointing finger, a ring."""
DIGITS: Final = {0: "O", 2: "V", 6: "W", 9: "F"}
"""Photographed digits whose hand is that of a letter: some two hundred people show these four."""
NO_LETTERS: Final = (3, 5, 7, 8)
"""Digits whose hand is that of no letter."""


@dataclass(frozen=True, kw_only=True)
class LetterVariety:
    """Ranges from which a view is drawn; angles are standard deviations in degrees.

    Attributes:
        turn: out of the picture's plane, about either axis. roll: in the plane. joint: of each joint, radians.
        stretch: largest change of proportion, as a logarithm. shear: largest shear. perspective: largest, a hand's size.
        shape: noise on each landmark of a held letter, in hand sizes. jitter: the same, a frame.
    """

    turn: float = 55.0
    roll: float = 45.0
    joint: float = 0.03
    stretch: float = 0.5
    shear: float = 0.1
    perspective: float = 0.15
    shape: float = 0.06
    jitter: float = 0.015


@dataclass(frozen=True, kw_only=True)
class LettersTraining:
    """Settings of the task.

    Attributes:
        stills, streams: a batch; beside streams half as many stills. steps: batches an epoch. smoothing: label smoothing.
        hidden: share of a still's features that is hidden in the first stage.
        doubled: chance that a letter comes twice. lost: chance that the hand is not seen in a frame.
    """

    stills: int = 256
    streams: int = 8
    steps: int = 100
    hidden: float = 0.1
    smoothing: float = 0.1
    doubled: float = 0.25
    lost: float = 0.02
    variety: LetterVariety = field(default_factory=LetterVariety)
    seed: int = 0


def rotations(x: Floats, y: Floats, z: Floats) -> Floats:
    """(n, 3, 3) turns by z, then y, then x, radians."""
    one, zero = np.ones_like(x), np.zeros_like(x)

    def matrix(*rows: Floats) -> Floats:
        return np.stack(rows, axis=-1).reshape(-1, 3, 3)

    about_x = matrix(one, zero, zero, zero, np.cos(x), -np.sin(x), zero, np.sin(x), np.cos(x))
    about_y = matrix(np.cos(y), zero, np.sin(y), zero, one, zero, -np.sin(y), zero, np.cos(y))
    about_z = matrix(np.cos(z), -np.sin(z), zero, np.sin(z), np.cos(z), zero, zero, zero, one)
    return about_z @ about_y @ about_x


def normalised(points: Floats) -> Floats:
    """Hands (n, 21, 3) about their middle, of size 1 in the picture's plane."""
    centred = points - points.mean(axis=1, keepdims=True)
    size = np.sqrt((centred[..., :2] ** 2).sum(axis=2).mean(axis=1)).clip(1e-6)
    return (centred / size[:, None, None]).astype(np.float32)


def bent(hands: Floats, joint: float, random: np.random.Generator) -> Floats:
    """Hands (n, 21, 3) whose joints are turned a little; what lies beyond a joint turns with it."""
    count = len(hands)
    bones = (hands[:, 1:] - hands[:, BEFORE[1:]]).reshape(count, 5, 4, 3)
    share = np.array([0.3, 1, 1, 1])[:, None]  # the first bones lie in the palm
    angles = (random.normal(0, joint, (count, 5, 4, 3)) * share).cumsum(axis=2).reshape(-1, 3)
    turned = (rotations(*angles.T) @ bones.reshape(-1, 3, 1)).reshape(count, 5, 4, 3)
    wrist = hands[:, :1]
    tips = wrist[:, None] + turned.cumsum(axis=2)
    return np.concatenate([wrist, tips.reshape(count, 20, 3)], axis=1)


def seen_anew(hands: Floats, of: NDArray[np.int64], how: LetterVariety, random: np.random.Generator) -> Floats:
    """Hands (n, 21, 3) of size 1 as another camera sees them, (n, 21, 2); those of one view are seen by the same.

    Args:
        of: (n,) number of each one's view.
    """
    views = int(of.max()) + 1
    turn, roll = np.radians(how.turn), np.radians(how.roll)
    about = rotations(random.normal(0, turn, views), random.normal(0, turn, views), random.normal(0, roll, views))
    seen = hands @ about[of].transpose(0, 2, 1)
    seen = seen / (1 + random.uniform(-how.perspective, how.perspective, views)[of, None, None] * seen[..., 2:])
    stretch = random.uniform(-how.stretch, how.stretch, views) / 2
    plane = random.uniform(-how.shear, how.shear, (views, 2, 2)) * (1 - np.eye(2))
    plane[:, 0, 0], plane[:, 1, 1] = np.exp(stretch), np.exp(-stretch)
    plane[random.random(views) < 0.5, 0] *= -1  # a left hand
    return (seen[..., :2] @ plane[of]).astype(np.float32)


class LetterMaterial:
    """Hands of several sources, drawn alike often of each letter, and of a letter alike often of each source that has it."""

    def __init__(self, sources: Sequence[LetterHands]) -> None:
        self.points = normalised(np.concatenate([one.points for one in sources]))
        self._places: dict[int, list[NDArray[np.int64]]] = {}
        first = 0
        for one in sources:
            for letter in np.unique(one.letters).tolist():
                self._places.setdefault(letter, []).append(first + np.flatnonzero(one.letters == letter))
            first += len(one)
        self.known = np.array(sorted(self._places))

    def place(self, letter: int, random: np.random.Generator) -> int:
        """A hand of this letter."""
        groups = self._places[letter]
        group = groups[int(random.integers(len(groups)))]
        return int(group[int(random.integers(len(group)))])


class LetterStillsModel(nn.Module):
    """An IIGA without its attention: what the front end says of a still, normalised as each sub-layer does."""

    def __init__(self, model: IIGA, hidden: float) -> None:
        super().__init__()
        self.iiga, self.hidden = model, nn.Dropout(hidden)

    def forward(self, stills: Tensor) -> Tensor:
        """(n, 1, FEATURES) -> (n, 27)."""
        encoded = self.iiga.dropout(self.iiga.encode(self.hidden(stills)))
        logits: Tensor = self.iiga.decoder(F.layer_norm(encoded, encoded.shape[-1:]))[:, 0]
        return logits


class LetterStillsTask:
    """The first stage: letters of stills alone, by the front end."""

    def __init__(self, task: LettersTask, steps: int) -> None:
        self.task, self.steps = task, steps

    def batches(self, epoch: int) -> Iterable[Batch]:
        """Stills alone."""
        random = np.random.default_rng((self.task.how.seed, 7, epoch))
        for _ in range(self.steps):
            yield self.task.stills(random)

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """Cross-entropy."""
        return F.cross_entropy(model(batch[0]), batch[1], label_smoothing=self.task.how.smoothing)

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Nothing is chosen."""
        return {"score": 0.0}


class LettersTask:
    """Batches of stills and streams; the validation score is the epoch's number, so that the last weights stay.

    Args:
        others: (n, 21, 3) hands that are no letters. unseen: a source that is left out, whose accuracy is noted, no more.
    """

    def __init__(
        self, sources: Sequence[LetterHands], others: Floats, how: LettersTraining, *, unseen: LetterHands | None = None
    ) -> None:
        self.hands, self.others, self.how, self.unseen = LetterMaterial(sources), normalised(others), how, unseen
        self.validated = 0

    def batches(self, epoch: int) -> Iterable[Batch]:
        """New views of hands, and new streams."""
        random = np.random.default_rng((self.how.seed, epoch))
        for _ in range(self.how.steps):
            yield (*self.stills(random, self.how.stills // 2), *self._streams(random))

    def stills(self, random: np.random.Generator, count: int | None = None) -> tuple[Tensor, Tensor]:
        """(stills, 1, FEATURES) and their letters."""
        drawn = random.choice(self.hands.known, count or self.how.stills)
        hands = self.hands.points[[self.hands.place(int(letter), random) for letter in drawn]]
        how = self.how.variety
        seen = seen_anew(bent(hands, how.joint, random), np.arange(len(hands)), how, random)
        # noise as of one person's tracker: much for some hands, little for others
        noise = random.normal(0, 1, seen.shape) * how.shape * np.exp(random.normal(0, 0.5, (len(seen), 1, 1)))
        inputs = letters.features((seen + noise).astype(np.float32), np.ones(len(seen), np.bool_))
        inputs[:, -3:-1] = 0  # stills have no step
        return torch.from_numpy(inputs)[:, None], torch.from_numpy(drawn)

    def _streams(self, random: np.random.Generator) -> Batch:
        """Streams of letters, as `collate` puts them together."""
        films = [self._film(random) for _ in range(self.how.streams)]
        how = self.how.variety
        clip = np.repeat(np.arange(len(films)), [len(film.labels) for film in films])
        shapes = np.concatenate([np.stack(film.shapes) for film in films])
        seen = seen_anew(shapes, clip, how, random) + random.normal(0, how.jitter, (len(shapes), LANDMARKS, 2))
        rows = []
        for number, film in enumerate(films):
            there = np.array(film.there) & (random.random(len(film.there)) >= self.how.lost)
            drift = np.cumsum(np.array(film.steps) + random.normal(0, 0.02, (len(there), 2)), axis=0)
            points = (seen[clip == number] + drift[:, None]).astype(np.float32)
            rows.append((letters.features(points, there), np.where(there, film.labels, BLANK), film.target))
        return collate(rows)

    def _film(self, random: np.random.Generator) -> _LetterFilm:
        film, before = _LetterFilm(), None
        film.rest(int(random.integers(0, 4)))
        if random.random() < 0.1 and len(self.others):
            film.hold(self.others[int(random.integers(len(self.others)))], BLANK, int(random.integers(2, 8)))
        for _ in range(int(random.integers(1, 6))):
            letter = int(random.choice(self.hands.known))
            for again in range(2 if random.random() < self.how.doubled else 1):
                hand = bent(self.hands.points[[self.hands.place(letter, random)]], self.how.variety.joint, random)[0]
                hand = hand + random.normal(0, self.how.variety.shape / 2, hand.shape)
                if before is not None and (again or random.random() < 0.8):
                    film.change(before, hand, random, doubled=again > 0 or film.target[-1] == letter)
                film.hold(hand, letter, int(random.integers(3, 9)))
                film.target.append(letter)
                before = hand
        film.rest(int(random.integers(0, 4)))
        return film

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """Cross-entropy of stills and of the streams' frames, and CTC of the streams."""
        stills, drawn, *streams = batch
        smoothing = self.how.smoothing
        loss = F.cross_entropy(model(stills)[:, 0], drawn, label_smoothing=smoothing)
        return loss + 0.5 * sentence_loss(model(*streams[:2]), tuple(streams), frames_weight=1.0, smoothing=smoothing)

    def validate(self, model: nn.Module) -> dict[str, float]:
        """The epoch's number, and the share of the letters of the source left out that is read rightly."""
        self.validated += 1
        scores = {"score": float(self.validated)}
        if self.unseen is not None:
            assert isinstance(model, IIGA)
            read = letters.still_log_probabilities(model, self.unseen.points[..., :2])
            scores["letters"] = float((read.argmax(axis=1) + 1 == self.unseen.letters).mean())
        return scores


class _LetterFilm:
    """Frames that are added one after the other: a hand's shape (21, 3), the step of its place, a label, whether it is there."""

    def __init__(self) -> None:
        self.shapes: list[Floats] = []
        self.steps: list[tuple[float, float]] = []
        self.labels: list[int] = []
        self.there: list[bool] = []
        self.target: list[int] = []

    def hold(self, shape: Floats | None, label: int, count: int, *, step: tuple[float, float] = (0.0, 0.0)) -> None:
        for _ in range(count):
            self.shapes.append(np.zeros((LANDMARKS, 3), np.float32) if shape is None else shape)
            self.steps.append(step)
            self.labels.append(label)
            self.there.append(shape is not None)

    def rest(self, count: int) -> None:
        self.hold(None, BLANK, count)

    def change(self, before: Floats, after: Floats, random: np.random.Generator, *, doubled: bool) -> None:
        """From one letter to the next: by changing shape; the same one again after a slide aside, or a rest."""
        count = int(random.integers(1, 4))
        if not doubled:
            for share in np.linspace(0, 1, count + 2)[1:-1]:
                self.hold(before * (1 - share) + after * share, BLANK, 1)
        elif random.random() < 0.7:
            self.hold(before, BLANK, count + 1, step=(float(random.choice([-1, 1]) * random.uniform(0.25, 0.8)), 0.0))
        else:
            self.rest(count + 1)


def read_sources(folder: Path) -> dict[str, LetterHands]:
    """The folder's files of letters, by name.

    Raises:
        ValueError: where it holds none.
    """
    paths = sorted(folder.glob("*.npz"))
    found = {path.stem: letters.read_hands(path, aspect=letters.SOURCES.get(path.stem, 1.0)) for path in paths}
    if not found:
        raise ValueError(f"{folder.name or folder} holds no .npz file with points and letters")
    return found


def of_photos(photos: PhotoLandmarks) -> tuple[LetterHands, Floats]:
    """Photographed digits as hands of `DIGITS`' letters, and those that are no letters (n, 21, 3)."""
    seen = photos.found
    flat = photos.points[:, 0]
    points = np.concatenate([flat, np.zeros_like(flat[..., :1])], axis=2)
    kept = seen & np.isin(photos.digits, list(DIGITS))
    labels = [VOCABULARY.index[DIGITS[digit]] for digit in photos.digits[kept].tolist()]
    return LetterHands(points=points[kept], letters=np.array(labels)), points[seen & np.isin(photos.digits, NO_LETTERS)]


@dataclass(frozen=True, kw_only=True)
class LettersRun(recipe.TrainingRun):
    """A run on hands that spell letters.

    Attributes:
        still_steps: of the first stage. without: a source to leave out, on which the card then has scores.
        left_out: cards of such runs, whose scores are kept.
    """

    still_steps: int = 500
    without: str | None = None
    left_out: Sequence[Path] = ()


def train(
    run: LettersRun,
    sources: Mapping[str, LetterHands],
    others: Floats,
    config: IIGAConfig,
    how: LettersTraining,
    loop: LoopSettings,
    described: Sequence[dict[str, str]],
) -> Path:
    """Train and write the checkpoint and its card; returns the card's path.

    Args:
        described: the data's files, for the card.
    """
    without = run.without
    learnt = [one for name, one in sources.items() if name != without]
    if not learnt or (without is not None and without not in sources):
        raise ValueError(f"--without names one of several sources, {', '.join(sources)}: not {without}")
    task = LettersTask(learnt, others, how, unseen=sources.get(without or ""))
    torch.manual_seed(how.seed)
    model = IIGA(config)
    begin_local(model, share=0.02, gain=3.0)
    begun(run, model)
    first = replace(loop, epochs=1, steps_per_epoch=run.still_steps, ema=0.0)
    stills, attention = LetterStillsModel(model, how.hidden), {"iiga.layers": 0.0}
    fit(stills, LetterStillsTask(task, run.still_steps), first, device=best_device(), rates=attention)
    model.requires_grad_(True)
    entries = trained(run, model, task, loop, training=how, config=config, rates={"front": 0.0})  # the front end rests
    shown = {name: "".join(VOCABULARY.decode(np.unique(one.letters).tolist())) for name, one in sources.items()}
    card: dict[str, Any] = {
        **entries,
        "task": "letters of American Sign Language, spelled by a hand",
        "vocabulary": list(VOCABULARY.glosses),
        "fps": FPS,
        "film_side": FILM_SIDE,
        "landmarks": LANDMARKS,
        "input": f"landmarks of one hand, found in frames of {FILM_SIDE} x {FILM_SIDE}, about {FPS:g} a second",
        "data": list(described),
        "letters": shown,
        "split": f"learnt from {', '.join(name for name in sources if name != without)}; "
        + (f"{without} is left out" if without else "settings were chosen before, with one source left out, then the other"),
        "still_steps": run.still_steps,
        "decoding": {"least_probability": 0.5, "beam_power": 1.0},
    }
    if without is not None:
        card["metrics"]["left_out"] = [{"source": without, **left_out_scores(model.cpu(), task.hands, sources[without])}]
    else:
        cards = [json.loads(path.read_text(encoding="utf-8")) for path in run.left_out]
        card["metrics"]["left_out"] = [one for earlier in cards for one in earlier["metrics"]["left_out"]]
    card["metrics"]["confusions"] = confusions(model.cpu(), task.hands, how.variety)
    return checkpoints.save(run.name, model, card, folder=run.folder)


def left_out_scores(model: IIGA, hands: LetterMaterial, unseen: LetterHands) -> dict[str, Any]:
    """Scores on the hands of a source that was left out, of those letters that the others have."""
    known = np.isin(unseen.letters, hands.known)
    shown = LetterHands(points=unseen.points[known], letters=unseen.letters[known])
    scores = letters.evaluate_letters(model, shown, (), aspect=1.0)
    return {key: scores[key] for key in ("samples", "letters", "mean_by_letter", "by_letter")}


def confusions(model: IIGA, hands: LetterMaterial, variety: LetterVariety, *, each: int = 100, seed: int = 20) -> dict[str, Any]:
    """Readings of hands that were learnt from, each seen anew: counts (shown, read), the share of right ones."""
    random = np.random.default_rng(seed)
    drawn = hands.known.repeat(each)
    chosen = hands.points[[hands.place(int(letter), random) for letter in drawn]]
    mild = replace(variety, turn=variety.turn / 2, roll=variety.roll / 3)
    seen = seen_anew(chosen, np.arange(len(chosen)), mild, random)
    read = letters.still_log_probabilities(model, seen).argmax(axis=1)
    counts = np.zeros((len(letters.LETTERS), len(letters.LETTERS)), int)
    np.add.at(counts, (drawn - 1, read), 1)
    return {"samples": len(drawn), "letters": round(float((read == drawn - 1).mean()), 4), "counts": counts.tolist()}


def add_options(p: argparse.ArgumentParser) -> None:
    """Options of the command."""
    p.add_argument(
        "--data", required=True, type=Path, metavar="DIR", help="folder of hands (.npz: points, letter): a source each"
    )
    p.add_argument("--others", type=Path, default=None, metavar="FILE", help="hands that are no letters (.npz: xy, label)")
    p.add_argument("--photos", type=Path, default=None, metavar="FILE", help="landmarks kept by `train iiga-hands --landmarks`")
    p.add_argument("--left-out", nargs="*", type=Path, default=(), metavar="CARD", help="of runs --without, for this card")
    p.add_argument("--without", default=None, metavar="SOURCE", help="leave a source out and score it")
    recipe.add_run(p, name="iiga_letters", rate=2e-3, weight_decay=0.05, ema=0.99, warmup=100)
    recipe.add_rows(
        p,
        ("still-steps", 500, "batches of stills, from which the front end learns"),
        ("epochs", 5, "of the attention, on streams"),
        ("steps", 100, "batches an epoch"),
        ("stills", 256, "a batch"),
        ("streams", 8, "a batch"),
        ("width", 192, "D"),
        ("heads", 4, "N"),
        ("layers", 2, "L"),
        ("window", 3, "w of intra-gloss attention, frames to either side"),
        ("dropout", 0.4, None),
    )


def _run(o: argparse.Namespace) -> Path:
    shape = {"front": "tracks", "vocabulary": len(VOCABULARY), "expansion": 2, "track_convolutions": 2, "track_kernel": 1}
    config = recipe.taken(IIGAConfig, o, **shape, track_features=letters.FEATURES)
    others = np.zeros((0, LANDMARKS, 3), np.float32)
    if o.others is not None:
        flat = read_others([o.others], left_out=NEAR_LETTERS)
        others = np.concatenate([flat, np.zeros_like(flat[..., :1])], axis=2)
    sources = read_sources(o.data)
    if o.photos is not None:
        sources["digits"], no_letters = of_photos(photo_landmarks.load(o.photos))
        others = np.concatenate([others, no_letters])
    files = [*sorted(o.data.glob("*.npz")), *(path for path in (o.others, o.photos) if path)]
    loop = recipe.loop_of(o, steps=o.steps)
    run = recipe.run_of(o, loop, LettersRun)
    return train(run, sources, others, config, recipe.taken(LettersTraining, o), loop, checkpoints.describe_files(files))


RECIPES = {
    "letters": recipe.TrainingRecipe(
        add_options=add_options,
        run=_run,
        description="Train IIGA on hands that spell the letters of American Sign Language, given as 21 landmarks.",
    )
}
