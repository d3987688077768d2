"""Training IIGA on the landmarks of hands: the task, and the run from photographs and recorded signs to a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core import checkpoints
from core.device import best_device
from core.messages import compose
from core.models.iiga import IIGA, IIGAConfig
from core.signs.decoding import greedy
from core.signs.edits import word_error_rate
from core.signs.hands import tracks
from core.signs.hands.tracker import LANDMARKS
from core.signs.vocabulary import Vocabulary
from core.training.card import load_start, origin_entries, save_origin, training_entries
from core.training.hand_clips import PLAIN, LandmarkClip, LandmarkVariety, Material, Signs, make_clip
from core.training.iiga_tracks import begin_local, collate, ctc
from core.training.loop import Batch, Callback, LoopSettings, fit

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


@dataclass(frozen=True, kw_only=True)
class HandsTraining:
    """Settings of the task.

    Attributes:
        batch: clips a batch. steps: batches an epoch. smoothing: label smoothing of the frame-wise loss.
        frames_weight: its weight beside CTC. checked: clips of each kind that weights are chosen on.
    """

    batch: int = 32
    steps: int = 100
    smoothing: float = 0.1
    frames_weight: float = 0.5
    checked: int = 80
    variety: LandmarkVariety = field(default_factory=LandmarkVariety)
    seed: int = 0


def read_signs(path: Path) -> Signs:
    """The recorded signs of an .npz file with `frames` (n, HANDS, 21, 2) in shares of the picture, `offsets` and `labels`.

    Raises:
        ValueError: for a file without these, or with a sign that is not of `SIGN_NAMES`.
    """
    with np.load(path, allow_pickle=False) as arrays:
        if missing := {"frames", "offsets", "labels"} - set(arrays.files):
            raise ValueError(compose("{file} lacks the arrays {names}", file=path.name, names=", ".join(sorted(missing))))
        frames, offsets, labels = arrays["frames"], arrays["offsets"], arrays["labels"]
    names = [str(label).upper() for label in labels]
    if unknown := sorted(set(names) - set(SIGN_NAMES)):
        raise ValueError(compose("{file} holds signs that are not known: {names}", file=path.name, names=", ".join(unknown)))
    points = frames * np.array([SIGN_ASPECT, 1.0], np.float32)
    seen = (frames != 0).any(axis=(2, 3))
    spans = [slice(first, last) for first, last in pairwise(offsets)]
    kept = [place for place, span in enumerate(spans) if seen[span].any()]
    return Signs(
        points=[points[spans[place]] for place in kept],
        seen=[seen[spans[place]] for place in kept],
        labels=[VOCABULARY.index[names[place]] for place in kept],
    )


def read_others(path: Path) -> tracks.Floats:
    """Hands that are no signs, (n, 21, 2): an .npz file with `xy` and `label`, less the kinds that are a digit's shape."""
    with np.load(path, allow_pickle=False) as arrays:
        kept = ~np.isin(arrays["label"], OTHERS_LEFT_OUT)
        return np.asarray(arrays["xy"][kept], np.float32).reshape(-1, LANDMARKS, 2)


def part(material: Material, share: float) -> tuple[Material, Material]:
    """Learn from the first signers and recordings, choose on the last `share` of each.

    Of each sign the last recordings are held out, which were made one after the other.
    """
    signers = np.unique(material.photos.signers)
    cut = round(len(signers) * (1 - share))
    labels = np.array(material.signs.labels)
    order = np.arange(len(labels))
    ranks = np.array([(labels[:place] == label).sum() for place, label in enumerate(labels)])
    totals = np.array([(labels == label).sum() for label in labels])
    first = ranks < totals * (1 - share)
    split = round(len(material.others) * (1 - share))

    def chosen(places: Iterable[int]) -> Signs:
        kept = list(places)
        return Signs(
            points=[material.signs.points[place] for place in kept],
            seen=[material.signs.seen[place] for place in kept],
            labels=[material.signs.labels[place] for place in kept],
        )

    learnt = Material(
        photos=material.photos.of(signers[:cut]), signs=chosen(order[first].tolist()), others=material.others[:split]
    )
    held = Material(
        photos=material.photos.of(signers[cut:]), signs=chosen(order[~first].tolist()), others=material.others[split:]
    )
    return learnt, held


class HandsTask:
    """Batches of new clips, CTC helped by the frames' labels, and error rates on clips of the held-out material."""

    def __init__(self, train: Material, held_out: Material, how: HandsTraining) -> None:
        self.train, self.how = train, how

        def clips(seed: int, **changes: Any) -> list[LandmarkClip]:
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
            yield collate(
                [
                    (clip.features, clip.labels, clip.target)
                    for clip in (make_clip(self.train, self.how.variety, random) for _ in range(self.how.batch))
                ]
            )

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """CTC, and cross-entropy of the frames."""
        x, lengths, labels, targets, target_lengths = batch
        logits = model(x, lengths)
        frames = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100, label_smoothing=self.how.smoothing)
        return ctc(logits, lengths, targets, target_lengths) + self.how.frames_weight * frames

    def validate(self, model: nn.Module) -> dict[str, float]:
        """WER on digits, plain and tilted, and on signs; glosses a clip without a sign."""
        found: dict[str, float] = {}
        for name, clips in self.checks.items():
            read = [best_path(model, clip) for clip in clips]
            if name == "false":
                found[name] = sum(map(len, read)) / len(read)
            else:
                found[name] = word_error_rate([clip.target for clip in clips], read)
        score = -(found["wer"] + found["wer_tilted"] + 0.5 * found["wer_signs"] + 0.2 * found["false"])
        return {"score": score, **found}


@torch.no_grad()
def best_path(model: nn.Module, clip: LandmarkClip) -> list[int]:
    """The best path's sentence."""
    assert isinstance(model, IIGA)
    logits = model(torch.from_numpy(clip.features)[None])
    assert isinstance(logits, Tensor)
    return greedy(logits[0].log_softmax(dim=-1).numpy())


def run_hands(
    name: str,
    material: Material,
    config: IIGAConfig,
    how: HandsTraining,
    loop: LoopSettings,
    *,
    described: Sequence[dict[str, str]],
    held_out: float = 0.12,
    folder: Path = checkpoints.FOLDER,
    state: Path | None = None,
    start: Path | None = None,
    callbacks: Iterable[Callback] = (),
) -> Path:
    """Train and write the checkpoint; returns the card's path.

    Args:
        described: the data's files, for the card. held_out: share of signers and recordings to choose on.
        start: a card or an earlier run's state to begin with.
    """
    train, checked = part(material, held_out)
    task = HandsTask(train, checked, how)
    torch.manual_seed(how.seed)
    model = IIGA(config)
    begin_local(model, share=0.1, gain=3.0)
    before = None if start is None else load_start(model, start)
    save_origin(state, before)
    progress = fit(model, task, loop, device=best_device(), callbacks=callbacks, resume_from=state)
    card: dict[str, Any] = {
        **origin_entries(config, seed=how.seed, started_from=before, packages=("torch", "numpy", "safetensors")),
        "task": "digits and signs on the landmarks of hands",
        "vocabulary": list(VOCABULARY.glosses),
        "fps": FPS,
        "film_side": FILM_SIDE,
        "landmarks": tracks.HANDS * LANDMARKS,
        "input": f"landmarks of up to {tracks.HANDS} hands, found in frames of {FILM_SIDE} x {FILM_SIDE}, about {FPS:g} a second",
        "data": list(described),
        "split": f"by signer: {len(np.unique(train.photos.signers))} signers to learn from, the last "
        f"{len(np.unique(checked.photos.signers))} of the train signers to choose on; "
        f"of each recorded sign the last {held_out:.0%}",
        "clips": "synthetic sentences of landmarks: core/training/hand_clips.py",
        "decoding": {"least_probability": 0.0, "beam_power": 3.0},
        **training_entries(how, loop, progress),
    }
    card["training"]["held_out"] = held_out
    return checkpoints.save(name, model, card, folder=folder)
