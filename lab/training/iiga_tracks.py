"""IIGA on tracked sentences: augmentation, batches, the loss (CTC, helped by the glosses' known frames), and the checkpoint."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from core import checkpoints
from core.models.iiga import IIGA, IIGAConfig
from core.signs import tracks
from core.signs.recogniser import Recogniser
from core.signs.tracks import STRIDE, Scale, TrackSentence, features, normalised, scale_of
from core.signs.vocabulary import BLANK, Vocabulary
from core.training.card import begun, save, trained
from core.training.loop import Batch, LoopSettings
from core.training.recipe import TrainingRun
from lab.signs.evaluation import evaluate_tracks
from lab.signs.tracked_sentences import fit_scales, frame_labels, of_sentences, read_sentences
from lab.training.sentences import IGNORED, SentenceTask, SentenceTraining, begin_local, collate, error_rate

POOL = 4
"""Batches among which sentences are sorted by length."""


@dataclass(frozen=True, kw_only=True)
class TracksTraining(SentenceTraining):
    """Settings of how sentences are varied and weighed.

    Attributes:
        splice: share of sentences that are put together from the head of one and the tail of another.
        rest: frames of stillness added at either end, at most; as many may be taken off where no gloss lies.
        speed: largest change of speed, as a factor. stretch: the same for each quarter of a sentence.
        scale: largest change of a hand's reach, as a share. shift: standard deviation of a hand's place, z-scores.
        shear: largest mixing of x and y, as a share. jitter: noise on each frame, z-scores.
        mask: frames hidden, one after the other, at most.
        channel: chance that a group of features is hidden.
        held_out: sentences of train to choose on; 0 trains on all of them for the epochs given and keeps the last weights.
    """

    batch: int = 16
    splice: float = 0.5
    rest: int = 12
    speed: float = 1.2
    stretch: float = 1.2
    scale: float = 0.1
    shift: float = 0.1
    shear: float = 0.06
    jitter: float = 0.03
    mask: int = 4
    channel: float = 0.03
    frames_weight: float = 1.0
    held_out: int = 0


@dataclass(frozen=True, kw_only=True)
class PreparedTracks:
    """A sentence ready for variation: normalised hands, a label a frame (IGNORED where unknown) and its glosses' indices."""

    hands: NDArray[np.float32]
    labels: NDArray[np.int64]
    target: list[int]
    cuts: list[int]
    """Frames between two glosses at which the sentence may be taken apart; one fewer than glosses, or none."""


def prepare(sentence: TrackSentence, vocabulary: Vocabulary, scales: Mapping[str, Scale]) -> PreparedTracks:
    """Normalise one sentence and number its frames' glosses."""
    length = len(sentence.tracks)
    names = frame_labels(sentence.words, length)
    known = bool(sentence.words)
    labels = [IGNORED if not known else BLANK if name is None else vocabulary.index[name] for name in names]
    cuts = [(a.last + b.first + 1) // 2 for a, b in zip(sentence.words, sentence.words[1:], strict=False)]
    return PreparedTracks(
        hands=normalised(sentence.tracks, scale_of(scales, sentence.speaker)),
        labels=np.array(labels),
        target=vocabulary.encode(sentence.glosses),
        cuts=cuts,
    )


def spliced(one: PreparedTracks, other: PreparedTracks, random: np.random.Generator) -> PreparedTracks:
    """The head of one sentence and the tail of another, with the hands led over in a few frames."""
    if not one.cuts or not other.cuts:
        return one
    i, j = int(random.integers(len(one.cuts))), int(random.integers(len(other.cuts)))
    head, tail = slice(0, one.cuts[i]), slice(other.cuts[j], None)
    a, b = one.hands[head], other.hands[tail]
    if not len(a) or not len(b):
        return one
    share = np.linspace(0, 1, int(random.integers(3, 7)) + 2, dtype=np.float32)[1:-1, None]
    bridge = a[-1] * (1 - share) + b[0] * share
    return PreparedTracks(
        hands=np.concatenate([a, bridge, b]),
        labels=np.concatenate([one.labels[head], np.full(len(bridge), BLANK), other.labels[tail]]),
        target=one.target[: i + 1] + other.target[j + 1 :],
        cuts=[],
    )


def rested(one: PreparedTracks, most: int, random: np.random.Generator) -> PreparedTracks:
    """The sentence after a longer or a shorter wait, so that no gloss is known by when it comes."""
    signed = np.flatnonzero(one.labels > BLANK)
    if not len(signed) or not most:
        return one
    before = int(random.integers(-min(most, max(0, int(signed[0]) - 2)), most + 1))
    after = int(random.integers(-min(most, max(0, len(one.labels) - 3 - int(signed[-1]))), most + 1))
    kept = np.arange(-before, len(one.hands) + after).clip(0, len(one.hands) - 1)
    labels = one.labels[kept]
    labels[: max(0, before)] = BLANK
    labels[len(labels) - max(0, after) :] = BLANK
    return PreparedTracks(hands=one.hands[kept], labels=labels, target=one.target, cuts=[])


def varied(
    one: PreparedTracks, how: TracksTraining, random: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Another performance of the same sentence: features (T', F) and a label for each of the model's frames."""
    one = rested(one, how.rest, random)
    length = len(one.hands)
    pieces = np.exp(random.uniform(-1, 1, 4) * np.log(how.stretch)) * np.exp(random.uniform(-1, 1) * np.log(how.speed))
    pace = np.interp(np.linspace(0, 3, length), np.arange(4), pieces)
    middles = np.cumsum(pace) - pace / 2
    count = max(2 * STRIDE * (len(one.target) + 1), round(pace.sum()))
    places = np.interp(np.linspace(middles[0], middles[-1], count), middles, np.arange(length))
    hands = np.stack([np.interp(places, np.arange(length), column) for column in one.hands.T], axis=1)
    labels = one.labels[np.rint(places).astype(int)]
    factors = 1 + random.uniform(-how.scale, how.scale, 4)
    mixing = random.uniform(-how.shear, how.shear, 2)
    x, y = hands[:, 0::2].copy(), hands[:, 1::2].copy()
    hands[:, 0::2], hands[:, 1::2] = x + mixing[0] * y, y + mixing[1] * x
    hands = hands * factors + random.normal(0, how.shift, 4) + random.normal(0, how.jitter, hands.shape)
    inputs = features(hands.astype(np.float32))
    span = int(random.integers(0, how.mask + 1))
    start = int(random.integers(0, max(1, len(inputs) - span)))
    inputs[start : start + span] = 0
    for group in (slice(0, 2), slice(2, 4), slice(4, 6), slice(6, 10), slice(10, 14)):
        if random.random() < how.channel:
            inputs[:, group] = 0
    return inputs, labels[STRIDE // 2 :: STRIDE][: len(inputs)]


class TracksTask(SentenceTask):
    """Task for `core.training.loop.fit`.

    Args:
        validation: sentences to choose on; without any, training runs its epochs and the last weights (or their average) win.
    """

    how: TracksTraining

    def __init__(self, train: Sequence[PreparedTracks], validation: Sequence[PreparedTracks], how: TracksTraining) -> None:
        self.train, self.validation, self.how = list(train), list(validation), how
        self.validated, self.steps = 0, -(-len(train) // how.batch)

    def batches(self, epoch: int) -> Iterable[Batch]:
        """Every sentence once, varied anew."""
        random = np.random.default_rng((self.how.seed, epoch))
        order = random.permutation(len(self.train))
        batch = self.how.batch
        for pool in np.split(order, range(POOL * batch, len(order), POOL * batch)):
            rows = []
            for place in pool:
                one = self.train[place]
                if random.random() < self.how.splice:
                    one = spliced(one, self.train[int(random.integers(len(self.train)))], random)
                rows.append((*varied(one, self.how, random), one.target))
            rows.sort(key=lambda row: len(row[0]))  # neighbours of one length leave little to pad
            for start in random.permutation(np.arange(0, len(rows), batch)):
                yield collate(rows[start : start + batch])

    def validate(self, model: nn.Module) -> dict[str, float]:
        """WER of the best path on the validation sentences."""
        self.validated += 1
        if not self.validation:
            return {"score": float(self.validated)}
        wer = error_rate(model, [(features(one.hands), one.target) for one in self.validation])
        return {"score": -wer, "wer": wer}


def train(run: TrainingRun, data: Path, config: IIGAConfig, how: TracksTraining, loop: LoopSettings) -> Path:
    """Train and write the checkpoint and its card; returns the card's path.

    Args:
        data: folder of the sentences. config: its vocabulary is taken from them.
    """
    sentences = read_sentences(data, "train")
    vocabulary = of_sentences([one.glosses for one in sentences])
    config = IIGAConfig(**{**config.to_dict(), "vocabulary": len(vocabulary), "track_features": tracks.FEATURES})
    scales = fit_scales(sentences)
    order = np.random.default_rng(how.seed).permutation(len(sentences))
    prepared = [prepare(sentences[i], vocabulary, scales) for i in order]
    task = TracksTask(prepared[how.held_out :], prepared[: how.held_out], how)
    torch.manual_seed(how.seed)
    model = IIGA(config)
    begin_local(model)
    loop = replace(loop, steps_per_epoch=task.steps)
    split = f"{len(task.train)} train sentences to learn from"
    split += f", {how.held_out} to choose on" if how.held_out else ", for a number of epochs chosen before"
    card: dict[str, Any] = {
        **trained(run, model, task, loop, training=how, config=config, before=begun(run, model)),
        "task": "ASL sentences on tracks",
        "vocabulary": list(vocabulary.glosses),
        "fps": tracks.FPS,
        "stride": tracks.STRIDE,
        "input": f"tracks of both hands and the nose at {tracks.FPS:g} frames a second: {', '.join(tracks.COLUMNS)}, pixels",
        "scales": {speaker: asdict(scale) for speaker, scale in scales.items()},
        "training_sentences": [" ".join(one.glosses) for one in sentences],
        "data": checkpoints.describe_files(
            data / file for file in ("sentences_train.tsv", "sentences_test.tsv", "hands_condensed.csv", "train_words.csv")
        ),
        "split": f"{split}; the test sentences are read once, after training",
    }

    def test(checkpoint: checkpoints.Checkpoint) -> dict[str, Any]:
        """WER on all test sentences, and on those that do not occur in training."""
        result = evaluate_tracks(Recogniser(checkpoint), read_sentences(data, "test"))
        return {"test": result.summary() | result.unseen(set(card["training_sentences"]))}

    return save(run, model, card, test)
