"""Importance of each frame for a gloss: attention, rollout, gradient relevance, integrated gradients and occlusion.

Explained is the probability of a label at one frame, as a rule the gloss's peak. Deleting a frame replaces it by the clip's
mean: the mean picture, or the mean of each tracked number.
"""

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attention_light.rollout import fuse_heads, rollout
from core.device import falls_back
from core.explain.erasing import Hidden, mask
from core.explain.faithfulness import ExplainedInput
from core.explain.measures import explained_input
from core.explain.occlusion import without
from core.explain.relevance import attention_gradients, relevance
from core.nn import AttentionMaps
from core.signs import samples
from core.signs.decoding import gloss_spans
from core.signs.hands.tracks import HandTracks
from core.signs.recogniser import Recogniser
from core.signs.recognition import Recognition
from core.signs.video import read_video

MAX_FRAMES: Final = 200
"""Longest clip whose frames are deleted one by one, frames of the model: 200 take some five seconds a gloss, and the time grows
with the square."""
Sentences = Callable[[Hidden], list[tuple[int, ...]]]
"""(copies, T') frames that are deleted -> the labels that are read of each copy."""
MAX_GLOSSES: Final = 12
"""Of a clip, for which all is measured that takes a pass of the model for each frame."""


@falls_back
def frames_relevance(recogniser: Recogniser, encoded: Tensor, *, frame: int, label: int) -> NDArray[np.float64]:
    """(T',) gradient relevance of each frame for a label's logit at one frame; the identity of that frame is taken off.

    Args:
        encoded: (1, T', D) of `Recogniser.encode`.
    """

    def scored(x: Tensor) -> tuple[Tensor, AttentionMaps]:
        logits, maps = recogniser.model.attend(x, return_attention=True)
        return logits[:, frame], maps

    layers, gradients = attention_gradients(scored, encoded.to(recogniser.placement.device), label)
    row = relevance(layers, gradients)[frame]
    row[frame] -= 1.0
    return np.asarray(row)


def clip_relevance(
    recogniser: Recogniser,
    clip: NDArray[Any],
    *,
    frame: int,
    label: int,
    speaker: str | None = None,
    hidden: Collection[int] = (),
) -> NDArray[np.float64]:
    """The same of a clip as `Recogniser.answer` takes it, without some of the model's frames."""
    encoded = _encoded_without(recogniser, recogniser.inputs(clip, speaker=speaker), hidden)
    return frames_relevance(recogniser, encoded, frame=frame, label=label)


@torch.no_grad()
def recognition_without(
    recogniser: Recogniser, clip: NDArray[Any], whole: Recognition, hidden: Collection[int], speaker: str | None = None
) -> Recognition:
    """As `Recogniser.answer`, without some of the model's frames; `whole` is its answer on all of them."""
    began = time.perf_counter()
    inputs = recogniser.inputs(clip, speaker=speaker) if whole.hands is None else recogniser.landmark_inputs(whole.hands)
    rest = recogniser.answer_of_encoded(_encoded_without(recogniser, inputs, hidden), None, began=began, hands=whole.hands)
    return replace(rest, seconds=whole.seconds)


@torch.no_grad()
def _encoded_without(recogniser: Recogniser, inputs: Tensor, hidden: Collection[int]) -> Tensor:
    encoded = recogniser.encode(inputs)
    if not hidden:
        return encoded
    whole, _empty, _logits = _deletable(recogniser, inputs, encoded, hidden)
    return recogniser.encode(whole[None]) if recogniser.front == "tracks" else whole[None]


@falls_back
def explain_frame(
    recogniser: Recogniser,
    clip: NDArray[Any],
    *,
    frame: int,
    label: int,
    speaker: str | None = None,
    hidden: Collection[int] = (),
) -> ExplainedInput:
    """Importance (T',) of each frame for the probability of a label at one frame, by every method.

    Args:
        clip: as `Recogniser.answer` takes it. frame: of the model's own, from 0. hidden: frames that are left out.

    Raises:
        ValueError: for a clip that the model does not read, or a frame or a label there is not.
    """
    with torch.no_grad():
        inputs = recogniser.inputs(clip, speaker=speaker)
        encoded = recogniser.encode(inputs)
    steps = encoded.shape[1]
    if not 0 <= frame < steps:
        raise ValueError(f"there is no frame {frame}: the model's frames of this clip are 0 to {steps - 1}")
    if not 0 <= label < len(recogniser.vocabulary):
        raise ValueError(f"there is no label {label}: the vocabulary's are 0 to {len(recogniser.vocabulary) - 1}")
    whole, empty, logits_of = _deletable(recogniser, inputs, encoded, hidden)
    with torch.no_grad():
        encoded = _encoded_without(recogniser, inputs, hidden)
        _logits, by_name = recogniser.attend(encoded)
    maps = [weights[0].numpy() for weights in by_name.values()]
    return explained_input(
        lambda x: logits_of(x)[:, frame].softmax(dim=-1)[:, label],
        whole,
        empty,
        torch.arange(steps)[:, None],
        known={
            "attention": fuse_heads(maps[-1])[frame],
            "rollout": rollout(maps)[frame],
            "relevance": frames_relevance(recogniser, encoded, frame=frame, label=label),
        },
    )


@torch.no_grad()
def _deletable(
    recogniser: Recogniser, inputs: Tensor, encoded: Tensor, hidden: Collection[int] = ()
) -> tuple[Tensor, Tensor, Callable[[Tensor], Tensor]]:
    """A clip (T', ...) whose frames can be deleted, some already, its mean frame in every place, and the logits of copies."""
    through_front = recogniser.front == "tracks"  # its convolutions mix neighbours, so a frame is deleted before them
    if through_front:
        whole, empty = inputs[0], inputs.mean(dim=1).expand_as(inputs[0]).clone()
    else:
        mean = inputs.float().mean(dim=1, keepdim=True).round().to(inputs.dtype)
        whole, empty = encoded[0], recogniser.encode(mean)[0].expand_as(encoded[0]).clone()

    def logits(x: Tensor) -> Tensor:
        model, there = recogniser.model, x.to(recogniser.placement.device)
        return model.attend(model.encode(there) if through_front else there)[0].to(x.device)

    return without(whole, empty, torch.arange(len(whole))[:, None], mask(hidden, len(whole)))[0], empty, logits


@falls_back
@torch.no_grad()
def glosses_without(
    recogniser: Recogniser, clip: NDArray[Any], *, hands: HandTracks | None = None, speaker: str | None = None
) -> Sentences:
    """The sentence of labels that is read of copies of a clip, each with some frames deleted.

    Args:
        clip: as `Recogniser.answer` takes it. hands: what was seen of hands in it, where the model reads these.
    """
    inputs = recogniser.inputs(clip, speaker=speaker) if hands is None else recogniser.landmark_inputs(hands)
    whole, empty, logits = _deletable(recogniser, inputs, recogniser.encode(inputs))
    parts = torch.arange(len(whole))[:, None]

    @torch.no_grad()
    def answers(hidden: Hidden) -> list[tuple[int, ...]]:
        read = recogniser.placement.run(lambda: logits(without(whole, empty, parts, hidden))).log_softmax(dim=-1).numpy()
        return [sentence(one) for one in read]

    def sentence(log_probabilities: NDArray[np.float32]) -> tuple[int, ...]:
        heard = log_probabilities if hands is None else recogniser.silenced(log_probabilities, hands)
        return tuple(span.label for span in gloss_spans(recogniser.confident(heard)))

    return answers


def peak_attention(recognition: Recognition) -> NDArray[np.float64]:
    """(T',) last layer's mean weights at the surest frames of the glosses, summed; of all frames where there is no gloss."""
    weights = fuse_heads(list(recognition.attention.values())[-1])
    peaks = [gloss.peak for gloss in recognition.glosses] or range(len(weights))
    return np.asarray(weights[list(peaks)].sum(axis=0))


def bundled_clips(recogniser: Recogniser) -> dict[str, tuple[NDArray[Any], str | None]]:
    """The bundled clips that a model reads, by name, each with its speaker where it is of tracks."""
    if recogniser.front == "tracks":
        return {str(one.video): (one.tracks, one.speaker) for one in samples.track_samples()}
    films = {one.name: one.path.read_bytes() for one in samples.clip_samples()}
    return {name: (read_video(film, size=recogniser.image_size, fps=recogniser.fps).frames, None) for name, film in films.items()}
