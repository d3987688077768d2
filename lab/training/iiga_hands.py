"""IIGA on the landmarks of hands: synthetic clips, the task, and the run from photographs and recorded signs to a checkpoint.

A clip is of digits from photographs, recorded signs, hands that are no signs, and what lies between them. A digit is held with a
hand that trembles; between two the hand changes shape, fades into the next, leaves and comes back, or is away. Each clip has a
tilt, a size, a side (left or right) and a proportion of its own; now and then a hand is lost for a frame.
"""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from core import checkpoints
from core.models.iiga import IIGA, IIGAConfig
from core.signs.hands import tracks
from core.signs.hands.palms import Floats
from core.signs.hands.tracker import LANDMARKS
from core.signs.hands.tracks import HANDS
from core.signs.vocabulary import BLANK, Vocabulary
from core.training import recipe
from core.training.card import begun, trained
from core.training.loop import Batch, LoopSettings
from lab.signs.photo_landmarks import MIRRORED, VIEWS, PhotoLandmarks
from lab.signs.photo_set import MANIFEST
from lab.training.sentences import IGNORED, Row, SentenceTask, SentenceTraining, begin_local, best_paths, collate, error_rate

FILM_SIDE: Final = 240
"""Height and width, pixels, of the frames in which hands are found."""
FPS: Final = 10.0
SIGN_NAMES: Final = ("APPLE", "HAPPY", "LOVE", "SORRY")
VOCABULARY: Final = Vocabulary((*(str(digit) for digit in range(10)), *SIGN_NAMES))
"""Index 1 is the digit 0, and so on; then the four signs."""
SIGN_ASPECT: Final = 16 / 9
"""Of the films in which the signs were recorded: the width at which palms keep their proportions as they turn."""
OTHERS_LEFT_OUT: Final = (0, 2)
"""Kinds of gestures that are a digit's own shape: an open hand is 5, a pointing finger 1."""
LETTERS_TAKEN: Final = tuple("ACEMNQSTY")
"""Spelled letters whose hand is that of no digit: fists, and hands that might hold something."""
ASPECTS: Final = {"asl_ai": 16 / 9, "insitee": 1.0}
"""Files of spelled letters, and width over height of the pictures that their coordinates are shares of."""
NEIGHBOURS: Final = 100
"""Hands that are no signs are held out so many at a time, as those of one film lie side by side."""
OPEN: Final = 5
TIPS: Final = np.array([4, 8, 12, 16, 20])
MOST_GLOSSES: Final = 6
SIGN_STRIDE: Final = 3.0
"""Recorded frames (30 a second) for one of the model's (10 a second)."""


@dataclass(frozen=True, kw_only=True)
class LandmarkVariety:
    """Ranges from which a clip is drawn.

    Attributes:
        hold: fewest and most frames that a digit is held. change: the same of a change.
        tilt: largest turn of a whole clip, degrees. lean: standard deviation of each digit's own turn, degrees.
        stretch: largest change of proportion, as a share. shear: largest shear.
        jitter: noise on each landmark and frame, in hand sizes. bend: the same, but constant while a digit is held.
        lost: chance that a hand is not seen in a frame. second: chance of a second hand that signs nothing.
        mirrored: chance of a left hand for a right one.
        kinds: chances of digits alone, signs alone, both, and no sign at all.
    """

    hold: tuple[int, int] = (3, 10)
    change: tuple[int, int] = (1, 4)
    tilt: float = 45.0
    lean: float = 6.0
    stretch: float = 0.12
    shear: float = 0.1
    jitter: float = 0.025
    bend: float = 0.03
    lost: float = 0.03
    second: float = 0.12
    mirrored: float = 0.5
    kinds: tuple[float, float, float, float] = (0.40, 0.26, 0.12, 0.22)


PLAIN: Final = LandmarkVariety(tilt=12, lean=2.5, stretch=0, shear=0.02, jitter=0.01, bend=0, lost=0.01, second=0, mirrored=0)
"""Conditions near to those of the scored films, for choosing weights."""


@dataclass(frozen=True, kw_only=True)
class Sign:
    """A recorded sign: landmarks (T, HANDS, 21, 2) in pixels, which hands are seen (T, HANDS), and the index of its gloss."""

    points: Floats
    seen: NDArray[np.bool_]
    label: int


@dataclass(frozen=True, kw_only=True)
class Material:
    """Parts from which clips are put together.

    Attributes:
        photos: of digits; index 1 is the digit 0, and so on. signs: recorded ones. others: (n, 21, 2) hands that are no signs.
    """

    photos: PhotoLandmarks
    signs: Sequence[Sign]
    others: Floats


class _Clip:
    """Frames that are added one after the other; all that is drawn comes from the clip's own random numbers."""

    def __init__(self, material: Material, variety: LandmarkVariety, random: np.random.Generator) -> None:
        self.material, self.variety, self.random = material, variety, random
        self.points: list[Floats] = []
        self.seen: list[NDArray[np.bool_]] = []
        self.labels: list[int] = []

    def add(self, points: Floats | None, label: int = BLANK, seen: NDArray[np.bool_] | None = None) -> None:
        """One frame: of one hand (21, 2), of two (HANDS, 21, 2) with which of them is seen, or of none."""
        frame, visible = np.zeros((HANDS, LANDMARKS, 2), np.float32), np.zeros(HANDS, np.bool_)
        if points is not None and seen is not None:
            frame, visible = points, seen
        elif points is not None:
            frame[0], visible[0] = points, True
        self.points.append(frame)
        self.seen.append(visible)
        self.labels.append(label)

    def rest(self, count: int) -> None:
        """Frames without a hand."""
        for _ in range(count):
            self.add(None)

    def view(self, chosen: int) -> Floats:
        """One of a photo's views about its palm, as a right hand and of size 1, with its own bend and turn."""
        views = self.material.photos.points[chosen]
        view = int(self.random.choice([one for one in range(VIEWS) if np.isfinite(views[one, 0, 0])]))
        points = views[view].copy()
        if view == MIRRORED:
            points[:, 0] *= -1
        shape = centred(points)
        shape = shape + self.random.normal(0, self.variety.bend, shape.shape)
        return turned(shape, np.radians(self.random.normal(0, self.variety.lean)))

    def hold(self, shape: Floats, chosen: int, label: int) -> None:
        """A digit held; the tracker's view of it may change once."""
        fewest, most = self.variety.hold
        frames = int(self.random.integers(fewest, most + 1))
        other = self.view(chosen) if self.random.random() < 0.5 else shape
        turn = int(self.random.integers(0, frames + 1))
        for at in range(frames):
            self.add(shape if at < turn else other, label)

    def change_frames(self) -> int:
        """Draws how many frames a change takes."""
        fewest, most = self.variety.change
        return int(self.random.integers(fewest, most + 1))

    def change(self, before: Floats | None, after: Floats | None, *, same: bool) -> None:
        """From one sign to the next: by changing shape, fading, leaving, or a rest."""
        random = self.random
        if before is None:
            if after is not None and random.random() < 0.5:
                self.pass_by(after, leaves=False)
            return
        count, how = self.change_frames(), random.random()
        if not same and after is not None and how < 0.55:
            morph = random.random() < 0.4
            for share in np.linspace(0, 1, count + 2)[1:-1]:
                if morph:
                    self.add((before * (1 - share) + after * share).astype(np.float32))
                else:  # a fade: the tracker sees one of the two, poorly, or neither
                    mixed = before if share < random.uniform(0.35, 0.65) else after
                    noise = random.normal(0, 0.12 * min(share, 1 - share) * 2, mixed.shape)
                    self.add(None if random.random() < 0.15 else (mixed + noise).astype(np.float32))
        elif how < 0.8:
            self.pass_by(before, leaves=True)
            if after is not None:
                self.pass_by(after, leaves=False)
        else:
            self.rest(count)

    def pass_by(self, shape: Floats, *, leaves: bool) -> None:
        """A hand that leaves the picture, or comes into it."""
        random, count = self.random, self.change_frames()
        way = np.array([random.uniform(-0.6, 0.6), 1.0]) * random.uniform(2.5, 7)  # in the hand's sizes
        out_of_sight, shares = random.uniform(0.2, 0.8), np.linspace(0, 1, count + 2)[1:-1]
        for share in shares if leaves else shares[::-1]:
            noise = random.normal(0, 0.25 * share, shape.shape)
            self.add(None if share > out_of_sight else (shape + way * share + noise).astype(np.float32))
        if leaves:
            self.rest(int(random.integers(0, 2)))

    def sign(self, sign: Sign) -> None:
        """A recorded sign at another speed, its ends left out of the frame-wise loss."""
        pace = SIGN_STRIDE * np.exp(self.random.uniform(-0.3, 0.3))
        places = np.arange(self.random.uniform(0, pace), len(sign.points) - 0.5, pace).astype(int)
        swap = self.random.random() < 0.3
        _, place, size, _ = tracks.canonical(sign.points[sign.seen])
        centre, scale = place.mean(axis=0), size.mean()
        for count, at in enumerate(places):
            known = 0.2 * len(places) <= count < 0.85 * len(places)
            frame, shown = (sign.points[at] - centre) / scale, sign.seen[at]
            if swap:
                frame, shown = frame[::-1], shown[::-1]
            if shown[1] and not shown[0]:  # a single hand takes the first slot
                frame, shown = frame[::-1], shown[::-1]
            self.add(frame.astype(np.float32).copy(), sign.label if known else IGNORED, shown.copy())

    def nothing(self) -> None:
        """No sign: an empty picture, or one or two hands that rest, tremble, type, wave or gesture."""
        random = self.random
        self.rest(int(random.integers(1, 6)))
        if random.random() < 0.9 and len(self.material.others):
            for _ in range(int(random.integers(1, 3))):
                both, frames = random.random() < 0.5, int(random.integers(4, 28))
                points = np.stack([self.idle(frames) for _ in range(HANDS)], axis=1)
                points[:, 1] += random.normal(0, 3, 2)
                points[:, 1] *= 1.0 if both else 0.0
                for frame in points:
                    self.add(frame.astype(np.float32), seen=np.array([True, both]))
                self.rest(int(random.integers(0, 3)))

    def idle(self, frames: int) -> Floats:
        """A hand (frames, 21, 2) that signs nothing: it rests, types, waves, or gestures through shape after shape."""
        random, photos, others = self.random, self.material.photos, self.material.others
        kind, steps = random.choice(["rest", "type", "wave", "gesture"], p=[0.4, 0.25, 0.15, 0.2]), np.arange(frames)

        def shape() -> Floats:
            chosen = int(random.integers(len(photos.digits)))
            anything = (kind == "gesture" and random.random() < 0.5) or (kind == "wave" and photos.digits[chosen] == OPEN)
            hand = photos.points[chosen, 0] if anything else others[int(random.integers(len(others)))]
            return turned(centred(hand if np.isfinite(hand).all() else others[0]), random.normal(0, 0.3))

        shapes = np.stack([shape() for _ in range(2 + frames // 4 if kind == "gesture" else 1)])
        places = np.linspace(0, len(shapes) - 1, frames)
        share = (places % 1)[:, None, None]
        hand = shapes[places.astype(int)] * (1 - share) + shapes[np.ceil(places).astype(int)] * share
        if kind == "type":
            wave = np.sin(steps[:, None] * random.uniform(0.5, 2.5, 5) + random.uniform(0, 6, 5)) * random.uniform(0.1, 0.5)
            hand[:, TIPS] += wave[..., None] * hand[:, TIPS] / 2
        if kind == "wave":
            angles = random.uniform(0.2, 0.7) * np.sin(steps * random.uniform(0.5, 1.6) + random.uniform(0, 6))
            hand = np.stack([turned(one + np.array([0, -2.5]), angle) for one, angle in zip(hand, angles, strict=True)])
        pace = np.exp(random.uniform(np.log(0.01), np.log(0.4 if kind == "gesture" else 0.15)))
        walk = np.cumsum(random.normal(0, pace, (frames, 1, 2)), axis=0)
        return np.asarray(hand + walk + random.normal(0, random.uniform(0, 0.08), hand.shape))

    def features(self) -> Floats:
        """(T, FEATURES) with the clip's own tilt, side, proportion and drift, the tracker's noise, lost and second hands."""
        random, variety, others = self.random, self.variety, self.material.others
        points, seen = np.stack(self.points), np.stack(self.seen)
        steps = len(points)
        if random.random() < variety.second and len(others) and not seen[:, 1].any():
            hand = others[int(random.integers(len(others)))]
            first = int(random.integers(0, steps))
            span = slice(first, first + int(random.integers(1, steps + 1)))
            points[span, 1] = centred(hand) + random.normal(0, 3, 2)
            seen[span, 1] = seen[span, 0]
        if random.random() < variety.mirrored:
            points[..., 0] *= -1
        points = turned(points, np.radians(random.uniform(-variety.tilt, variety.tilt)))
        mix = np.eye(2) + random.uniform(-variety.shear, variety.shear, (2, 2)) * (1 - np.eye(2))
        mix = mix @ np.diag(np.exp(random.uniform(-variety.stretch, variety.stretch, 2)))
        drift = np.cumsum(random.normal(0, 0.04, (steps, 1, 1, 2)), axis=0)
        noise = random.normal(0, variety.jitter * np.exp(random.normal(0, 0.5)), points.shape)
        points = (points @ mix + drift + noise).astype(np.float32)
        seen &= random.random(seen.shape) >= variety.lost
        lone = seen[:, 1] & ~seen[:, 0]
        points[lone], seen[lone] = points[lone][:, ::-1], seen[lone][:, ::-1]
        points[~seen] = 0
        return tracks.features(points, seen)


def centred(hand: Floats) -> Floats:
    """A hand (21, 2) about its palm and of size 1."""
    _, place, size, _ = tracks.canonical(hand[None])
    return (hand - place[0]) / size[0]


def turned(points: Floats, angle: float) -> Floats:
    """Points (..., 2) turned clockwise on screen about the origin."""
    cos, sin = np.cos(angle), np.sin(angle)
    return (points @ np.array([[cos, sin], [-sin, cos]])).astype(np.float32)


def make_clip(material: Material, variety: LandmarkVariety, random: np.random.Generator) -> Row:
    """One clip of up to `MOST_GLOSSES`: features (T, FEATURES), a label a frame, and the sentence's indices."""
    kind = int(random.choice(4, p=variety.kinds))
    clip, target = _Clip(material, variety, random), list[int]()
    clip.rest(int(random.integers(0, 4)))
    if kind == 3:
        clip.nothing()
    else:
        count = int(random.integers(1, MOST_GLOSSES + 1)) if kind == 0 else int(random.integers(1, 4))
        signer = random.choice(np.unique(material.photos.signers))
        theirs = np.flatnonzero((material.photos.signers == signer) & material.photos.found)
        last: Floats | None = None
        for _place in range(count):
            if (kind == 0 or (kind == 2 and random.random() < 0.6)) and len(theirs):
                chosen = int(random.choice(theirs))
                label = int(material.photos.digits[chosen]) + 1
                shape = clip.view(chosen)
                clip.change(last, shape, same=target[-1:] == [label])
                clip.hold(shape, chosen, label)
                last = shape
            else:
                sign = material.signs[int(random.integers(len(material.signs)))]
                label = sign.label
                clip.change(last, None, same=True)
                clip.sign(sign)
                clip.rest(int(random.integers(1, 5)))
                last = None
            target.append(label)
        if last is not None and random.random() < 0.5:
            clip.pass_by(last, leaves=True)
        elif random.random() < 0.5:
            clip.rest(int(random.integers(0, 5)))
    if not clip.points:
        clip.rest(2)
    return clip.features(), np.array(clip.labels), target


@dataclass(frozen=True, kw_only=True)
class HandsTraining(SentenceTraining):
    """Settings of the task; of signers and recordings a share is held out to choose on.

    Attributes:
        steps: batches an epoch. checked: clips of each kind that weights are chosen on.
    """

    steps: int = 100
    frames_weight: float = 0.5
    checked: int = 80
    variety: LandmarkVariety = field(default_factory=LandmarkVariety)


def read_signs(path: Path) -> list[Sign]:
    """The recorded signs of an .npz file with `frames` (n, HANDS, 21, 2) in shares of the picture, `offsets` and `labels`.

    Raises:
        ValueError: for a file without these, or with a sign that is not of `SIGN_NAMES`.
    """
    with np.load(path, allow_pickle=False) as arrays:
        if missing := {"frames", "offsets", "labels"} - set(arrays.files):
            raise ValueError(f"{path.name} lacks the arrays {', '.join(sorted(missing))}")
        frames, offsets, labels = arrays["frames"], arrays["offsets"], arrays["labels"]
    names = [str(label).upper() for label in labels]
    if unknown := sorted(set(names) - set(SIGN_NAMES)):
        raise ValueError(f"{path.name} holds signs that are not known: {', '.join(unknown)}")
    points = frames * np.array([SIGN_ASPECT, 1.0], np.float32)
    seen = (frames != 0).any(axis=(2, 3))
    spans = [slice(first, last) for first, last in pairwise(offsets)]
    signs = zip(spans, names, strict=True)
    return [Sign(points=points[span], seen=seen[span], label=VOCABULARY.index[name]) for span, name in signs if seen[span].any()]


def read_others(paths: Sequence[Path]) -> Floats:
    """Hands that are no signs, (n, 21, 2), of .npz files with `xy` and `label`, or with spelled letters (`points`, `letter`)."""
    hands = []
    for path in paths:
        with np.load(path, allow_pickle=False) as arrays:
            if "letter" in arrays:
                kept = np.isin(arrays["letter"].astype(str), LETTERS_TAKEN)
                flat = np.asarray(arrays["points"][kept][..., :2], np.float32)
                hands.append(flat * np.array([ASPECTS.get(path.stem, 1.0), 1], flat.dtype))
            else:
                kept = ~np.isin(arrays["label"], OTHERS_LEFT_OUT)
                hands.append(np.asarray(arrays["xy"][kept], np.float32).reshape(-1, LANDMARKS, 2))
    return np.concatenate(hands)


def part(material: Material, share: float) -> tuple[Material, Material]:
    """Learn from the first signers and recordings, choose on the last `share` of each.

    Of each sign the last recordings are held out, which were made one after the other.

    Raises:
        ValueError: where one of the two then has no photographed hand or no recorded sign.
    """
    signers = np.unique(material.photos.signers)
    cut = round(len(signers) * (1 - share))
    labels = [sign.label for sign in material.signs]
    early = [labels[:place].count(label) < labels.count(label) * (1 - share) for place, label in enumerate(labels)]
    parted = np.arange(len(material.others)) // NEIGHBOURS % max(2, round(1 / share)) == 0

    def half(*, learnt: bool) -> Material:
        return Material(
            photos=material.photos.of(signers[:cut] if learnt else signers[cut:]),
            signs=[sign for sign, first in zip(material.signs, early, strict=True) if first is learnt],
            others=material.others[parted != learnt],
        )

    learnt, held = half(learnt=True), half(learnt=False)
    if not all(one.photos.found.any() and one.signs for one in (learnt, held)):
        raise ValueError(
            f"too few recordings: {len(signers)} signers and {len(labels)} recorded signs leave none to learn from or none to "
            f"choose on, with {share:.0%} of the signers and of each sign held out; bring more, or hold out another share "
            "(--held-out)"
        )
    return learnt, held


class HandsTask(SentenceTask):
    """Batches of new clips, CTC helped by the frames' labels, and error rates on clips of the held-out material."""

    how: HandsTraining

    def __init__(self, train: Material, held_out: Material, how: HandsTraining) -> None:
        self.train, self.how = train, how

        def clips(seed: int, **changes: Any) -> list[Row]:
            random = np.random.default_rng(seed)
            variety = LandmarkVariety(**{**asdict(PLAIN), **changes})
            return [make_clip(held_out, variety, random) for _ in range(how.checked)]

        self.checks = {
            "wer": clips(11, kinds=(1, 0, 0, 0)),
            "wer_tilted": clips(12, kinds=(1, 0, 0, 0), tilt=30.0, mirrored=0.5),
            "wer_signs": clips(13, kinds=(0, 1, 0, 0), mirrored=0.5),
            "false": clips(14, kinds=(0, 0, 0, 1)),
        }

    def batches(self, epoch: int) -> Iterable[Batch]:
        """New clips."""
        random = np.random.default_rng((self.how.seed, epoch))
        for _ in range(self.how.steps):
            yield collate([make_clip(self.train, self.how.variety, random) for _ in range(self.how.batch)])

    def validate(self, model: nn.Module) -> dict[str, float]:
        """WER on digits, plain and tilted, and on signs; glosses a clip without a sign."""
        pairs = {name: [(inputs, target) for inputs, _, target in clips] for name, clips in self.checks.items()}
        scores = {name: error_rate(model, clips) for name, clips in pairs.items() if name != "false"}
        paths = best_paths(model, [inputs for inputs, _ in pairs["false"]])
        scores["false"] = sum(map(len, paths)) / len(paths)
        score = -(scores["wer"] + scores["wer_tilted"] + 0.5 * scores["wer_signs"] + 0.5 * scores["false"])
        return {"score": score, **scores}


def train(
    run: recipe.TrainingRun,
    material: Material,
    config: IIGAConfig,
    how: HandsTraining,
    loop: LoopSettings,
    *,
    described: Sequence[dict[str, str]],
) -> Path:
    """Train and write the checkpoint and its card; returns the card's path.

    Args:
        described: the data's files, for the card.
    """
    train, checked = part(material, how.held_out)
    task = HandsTask(train, checked, how)
    torch.manual_seed(how.seed)
    model = IIGA(config)
    begin_local(model)
    card: dict[str, Any] = {
        **trained(run, model, task, loop, training=how, config=config, before=begun(run, model)),
        "task": "digits and signs on the landmarks of hands",
        "vocabulary": list(VOCABULARY.glosses),
        "fps": FPS,
        "film_side": FILM_SIDE,
        "landmarks": HANDS * LANDMARKS,
        "input": f"landmarks of up to {HANDS} hands, found in frames of {FILM_SIDE} x {FILM_SIDE}, about {FPS:g} a second",
        "data": list(described),
        "split": f"by signer: {len(np.unique(train.photos.signers))} signers to learn from, the last "
        f"{len(np.unique(checked.photos.signers))} of the train signers to choose on; "
        f"of each recorded sign the last {how.held_out:.0%}",
        "clips": "synthetic sentences of landmarks: lab/training/iiga_hands.py",
        "decoding": {"least_probability": 0.0},
    }
    return checkpoints.save(run.name, model, card, folder=run.folder)


def add_options(p: argparse.ArgumentParser) -> None:
    """Options of the command."""
    p.add_argument("--data", required=True, type=Path, metavar="DIR", help="folder of photographed digits (manifest.csv)")
    p.add_argument("--signs", required=True, type=Path, metavar="FILE", help="recorded signs (.npz: frames, offsets, labels)")
    p.add_argument("--others", required=True, nargs="+", type=Path, metavar="FILE", help="hands that are no signs (.npz)")
    recipe.add_run(p, name="iiga_hands", rate=2e-3, weight_decay=0.02, ema=0.99, warmup=100)
    recipe.add_rows(
        p,
        ("epochs", 30, None),
        ("steps", 100, "batches an epoch"),
        ("batch", 32, None),
        ("width", 96, "D"),
        ("heads", 4, "N"),
        ("layers", 2, "L"),
        ("window", 3, "w of intra-gloss attention, frames to either side"),
        ("dropout", 0.1, None),
        ("held-out", 0.12, "share of signers and recordings to choose on"),
        ("landmarks", Path, "keep the photos' landmarks here, or read them"),
        ("start", Path, "begin with the weights of this card, or of the run with this state"),
    )


def _run(o: argparse.Namespace, photos: PhotoLandmarks) -> Path:
    shape = {"front": "tracks", "vocabulary": len(VOCABULARY), "expansion": 2, "track_convolutions": 2}
    config = recipe.from_options(IIGAConfig, o, **shape, track_features=tracks.FEATURES)
    material = Material(photos=photos, signs=read_signs(o.signs), others=read_others(o.others))
    loop = recipe.loop_of(o, steps=o.steps)
    described = checkpoints.describe_files([o.data / MANIFEST, o.signs, *o.others])
    return train(recipe.run_of(o, loop), material, config, recipe.from_options(HandsTraining, o), loop, described=described)


RECIPES = {
    "iiga-hands": recipe.TrainingRecipe(
        add_options=add_options,
        run=_run,
        description="Train IIGA on landmarks: of photographed digits (found once, by the models of `make hands`), of recorded "
        "signs, and of hands that are no signs.",
    )
}
