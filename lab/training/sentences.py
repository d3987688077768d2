"""Parts that every training of IIGA shares: how a model begins, batches of sentences, their loss, best paths, stages of a run."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from core.models.iiga import IIGA, IIGASublayer, TrackEncoder
from core.signs.decoding import greedy
from core.signs.edits import word_error_rate
from core.signs.vocabulary import BLANK
from core.training.loop import Batch

IGNORED: Final = -100
"""Label of frames that the frame-wise loss leaves out."""
Row = tuple[Any, Any, list[int]]
"""A sentence: inputs (T, ...), a label a frame (T,), and the indices of its glosses."""


@torch.no_grad()
def begin_local(model: IIGA) -> None:
    """Start a model of tracks as little more than its convolutions.

    What each sub-layer adds begins at a tenth of its size, and the features stand out from the positions threefold: the
    model first learns glosses from the frames around, in a third of the steps, and to look further away later.
    """
    shrink_sublayers(model, 0.1)
    assert isinstance(model.front, TrackEncoder)
    norm = model.front.norms[-1]
    assert isinstance(norm, nn.LayerNorm)
    norm.weight.fill_(3.0)


@torch.no_grad()
def shrink_sublayers(model: IIGA, share: float) -> None:
    """Begin what each sub-layer adds at a share of its size."""
    for layer in model.layers:
        assert isinstance(layer, IIGASublayer)
        layer.attention.out.weight.mul_(share)
        layer.ffn.fc2.weight.mul_(share)


def collate(rows: Sequence[Row]) -> Batch:
    """Inputs, lengths, frame labels, targets and their lengths; inputs padded with zeros, labels with IGNORED."""
    inputs, labels, targets = zip(*rows, strict=True)
    x = pad_sequence([torch.as_tensor(one) for one in inputs], batch_first=True)
    frames = pad_sequence([torch.as_tensor(one) for one in labels], batch_first=True, padding_value=IGNORED)
    return (
        x,
        torch.tensor([len(one) for one in inputs]),
        F.pad(frames, (0, x.shape[1] - frames.shape[1]), value=IGNORED),
        torch.tensor([label for target in targets for label in target]),
        torch.tensor([len(target) for target in targets]),
    )


def ctc(logits: Tensor, lengths: Tensor, targets: Tensor, target_lengths: Tensor) -> Tensor:
    """Mean over sentences of the CTC loss a gloss; a sentence with no valid path (D19) counts as zero."""
    log_probabilities = logits.float().log_softmax(dim=-1).transpose(0, 1)
    return F.ctc_loss(log_probabilities, targets, lengths, target_lengths, blank=BLANK, zero_infinity=True)


@dataclass(frozen=True, kw_only=True)
class SentenceTraining:
    """Settings of every training of IIGA: weight and label smoothing of the frame-wise loss beside CTC, batch, held-out share."""

    batch: int = 32
    frames_weight: float
    smoothing: float = 0.1
    held_out: float = 0.12
    seed: int = 0


class SentenceTask:
    """Loss of the tasks whose batches `collate` makes."""

    how: SentenceTraining

    def logits(self, model: nn.Module, batch: Batch) -> Any:
        """(n, T, V) of the batch's inputs."""
        return model(batch[0], batch[1])

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """CTC of the sentences, and at a weight the cross-entropy of the frames whose label is known."""
        _, lengths, labels, targets, target_lengths = batch
        logits = self.logits(model, batch)
        loss = ctc(logits, lengths, targets, target_lengths)
        if not self.how.frames_weight:
            return loss
        smoothing = self.how.smoothing
        frames = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, label_smoothing=smoothing)
        return loss + self.how.frames_weight * frames


@torch.no_grad()
def best_paths(read: Callable[[Tensor], Any], inputs: Iterable[Any]) -> list[list[int]]:
    """The best path's indices of each sentence (T, ...), read one by one: (1, T, ...) -> (1, T', V)."""
    return [greedy(read(torch.as_tensor(one)[None])[0].log_softmax(dim=-1).numpy()) for one in inputs]


def error_rate(read: Callable[[Tensor], Any], sentences: Iterable[tuple[Any, list[int]]]) -> float:
    """WER of the best paths of sentences: inputs and glosses' indices."""
    inputs, targets = zip(*sentences, strict=True)
    return word_error_rate(list(targets), best_paths(read, inputs))
