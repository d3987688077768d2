"""Training IIGA on photographed digits: the front end on stills, then attention on the features of clips, then both on clips.

The front end learns from single frames, each in a light and framing of its own. Then it rests: clips pass through it once, and
positions, attention and decoder learn by CTC from what comes out, which takes minutes instead of hours. Last, all of it learns
from whole clips: what a change from one digit to another looks like, which no single frame says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from core.models.iiga import IIGA, FrameEncoder, IIGAConfig, IIGASublayer
from core.nn import AttentionMaps
from core.signs.decoding import greedy
from core.signs.edits import word_error_rate
from core.signs.synthetic.clips import (
    BETWEEN,
    PLAIN,
    SCORING,
    TRAINING,
    SyntheticClip,
    make_clip,
    make_clips,
    make_stills,
    sentences,
)
from core.signs.synthetic.photo_set import PhotoSet
from core.signs.synthetic.render import Studio
from core.signs.vocabulary import BLANK, Vocabulary
from core.training.iiga_tracks import IGNORED, ctc
from core.training.loop import Batch

HARD_SHARE = 0.25
"""Weight of the hardest clips beside the plain ones in the third stage's score: a clip that someone films is neither."""
POLISH_STEPS = 25
"""Batches between two validations in the third stage."""

VOCABULARY = Vocabulary(tuple(str(digit) for digit in range(10)))
"""Index 1 is the digit 0, and so on."""
CLIPS_A_BATCH = 16


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
        found = {}
        for name, (frames, labels) in (("plain", self.plain), ("hard", self.hard)):
            parts = [model(torch.from_numpy(some)).argmax(dim=1) for some in np.array_split(frames, -(-len(frames) // 64))]
            found[name] = float((torch.cat(parts).numpy() == classes(labels)).mean())
        return {"score": found["plain"] + 0.5 * found["hard"], **found}


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
    found = []
    for place, (signer, chosen) in enumerate(sentences(studio.photos, how.clips, seed=how.seed + 1, digits=(1, 6))):
        variety = TRAINING if place % 100 < 100 * how.hard_clips else PLAIN
        found.append(encode(model, make_clip(studio, signer, chosen, variety, seed=(how.seed + 1) * 1_000_003 + place)))
        progress(place + 1, how.clips)
    return found


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
    found: dict[str, list[Features]] = {}
    for key in sorted(name.removesuffix("/x") for name in tensors if name.endswith("/x")):
        one = Features(encoded=tensors[f"{key}/x"], labels=tensors[f"{key}/y"], target=tensors[f"{key}/z"].tolist())
        found.setdefault(key.split("/")[0], []).append(one)
    return found


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
    found = [greedy(logits[0].log_softmax(dim=-1).numpy()) for logits, _ in read if isinstance(logits, Tensor)]
    wer = word_error_rate([target for _, target in read], found)
    return {"score": -wer, "wer": wer}
