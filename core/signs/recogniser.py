"""A trained IIGA as its card describes it: from frames or tracks to probabilities, attention and sentences."""

import hashlib
import importlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core import checkpoints
from core.device import Placement, falls_back, use_one_thread
from core.messages import BadValue, compose
from core.models.iiga import IIGA, IIGAConfig, folded_iiga
from core.nn import AttentionMaps
from core.signs import examples
from core.signs.decoding import confident, gloss_spans
from core.signs.hands import tracks as hand_tracks
from core.signs.hands.tracker import LANDMARKS, Finder
from core.signs.hands.tracks import HandTracks
from core.signs.recognition import Recognition
from core.signs.tracks import COLUMNS, Scale, features, normalised, scale_of
from core.signs.vocabulary import BLANK, Vocabulary

DIGITS, ASL, HANDS = "iiga_digits", "iiga_asl", "iiga_hands"
"""The shipped checkpoints: digits on video, ASL sentences on tracks, digits and signs on landmarks."""
FOLLOWED = 16
"""Clips whose hands are kept."""
PROBED = 16
"""Frames of a film without a hand in which a small one is sought."""
MIN_FRAMES = 2
"""Frames that a gloss of hands takes: one that is likeliest in a single frame, between two signs, is none."""
BLANK_LEAD = -20.0
"""Logarithm of what a gloss keeps in a frame without a hand."""


class Recogniser:
    """An IIGA checkpoint, ready to read clips.

    Attributes:
        fingerprint: SHA-256 of the card, which tells two recognisers apart.
        front: what a clip must be, "frames" or "tracks". image_size: height and width of a frame that it takes (frames only).
        reads_hands: whether it reads the landmarks of hands that are found in its frames.
        fps: frames a second that it was trained on; one of its frames stands for `stride` of them (tracks).
        vocabulary: the glosses it knows.
        least_probability: of a gloss's surest frame, for the gloss to count; chosen on validation, 0 where the card has none.
    """

    def __init__(self, checkpoint: checkpoints.Checkpoint) -> None:
        self.card = checkpoint.card
        self.fingerprint = hashlib.sha256(json.dumps(checkpoint.card, sort_keys=True).encode()).hexdigest()
        self.config: IIGAConfig = checkpoints.read_config(checkpoint.card, IIGA)
        with checkpoints.entries(checkpoint.card, "IIGA") as card:
            self.vocabulary = Vocabulary(tuple(card["vocabulary"]))
            self.fps = float(card["fps"])
            self.stride = int(card.get("stride", 1))
            self.reads_hands = card.get("landmarks", 0) == hand_tracks.HANDS * LANDMARKS
            self.image_size = int(card["film_side"]) if self.reads_hands else self.config.image_size
            self.scales = {name: Scale(**values) for name, values in card.get("scales", {}).items()}
            self.least_probability = float(card.get("decoding", {}).get("least_probability", 0.0))
        if len(self.vocabulary) != self.config.vocabulary:
            raise checkpoints.CheckpointError(
                "the card of {name!r} names {count} glosses for a model of {needed}",
                name=card["name"],
                count=len(self.vocabulary) - 1,
                needed=self.config.vocabulary - 1,
            )
        self.placement = Placement(folded_iiga(checkpoints.build_model(checkpoint, IIGA)))
        self._lock = threading.Lock()  # the finder is not for several threads at once
        self._finder: Finder | None = None
        self._followed: OrderedDict[str, HandTracks] = OrderedDict()  # by the frames' digest, the latest last

    @property
    def name(self) -> str:
        """The checkpoint's name."""
        return str(self.card["name"])

    @property
    def model(self) -> IIGA:
        """The network, where it computes now."""
        return self.placement.model

    @property
    def front(self) -> str:
        """Kind of its inputs: "frames" or "tracks"."""
        return "frames" if self.reads_hands else self.config.front

    @property
    def min_frames(self) -> int:
        """Frames that a gloss takes at least."""
        return MIN_FRAMES if self.reads_hands else 1

    def answer(
        self,
        clip: NDArray[Any],
        seconds: NDArray[np.floating] | None = None,
        *,
        speaker: str | None = None,
        attention: bool = True,
    ) -> Recognition:
        """Probabilities and, where asked for, attention.

        Args:
            clip: frames (T, image_size, image_size, 3) uint8 at about `fps` a second; or tracks (T, 6), pixels, columns as
                `core.signs.tracks.COLUMNS`, at `fps` a second.
            seconds: (T,) of the clip's frames, by `fps` where None.
            speaker: for tracks, whose scale to use; any other signer's is pooled.

        Raises:
            ValueError: for a clip of another shape, or without frames, or with positions that are no numbers.
        """
        hands = None
        if self.reads_hands:
            self._check(clip)
            hands = self.hands(clip)
        inputs = self.inputs(clip, speaker=speaker) if hands is None else self.landmark_inputs(hands)
        use_one_thread()
        began = time.perf_counter()
        with torch.no_grad():
            encoded = self.encode(inputs)
        return self.answer_of_encoded(encoded, seconds, began=began, attention=attention, hands=hands)

    def answer_of_encoded(
        self,
        encoded: Tensor,
        seconds: NDArray[np.floating] | None,
        *,
        began: float,
        attention: bool = True,
        hands: HandTracks | None = None,
    ) -> Recognition:
        """The same of what `encode` made, since `began` by `time.perf_counter`; frames without one of the hands are silent."""
        maps: AttentionMaps = {}
        with torch.no_grad():
            if attention:
                logits, maps = self.attend(encoded)
            else:
                logits = self.logits(encoded)
        log_probabilities = logits[0].log_softmax(dim=-1).numpy()
        steps = len(log_probabilities)
        every = np.arange(steps) * self.stride / self.fps if seconds is None else np.asarray(seconds, float)[:: self.stride]
        return Recognition(
            log_probabilities=log_probabilities if hands is None else self.silenced(log_probabilities, hands),
            attention={name: weights[0].numpy() for name, weights in maps.items()},
            seconds=every[:steps],
            took_s=time.perf_counter() - began,
            names=self.vocabulary.names,
            least_probability=self.least_probability,
            min_frames=self.min_frames,
            hands=hands,
        )

    def silenced(self, log_probabilities: NDArray[np.float32], hands: HandTracks) -> NDArray[np.float32]:
        """(T, V) with the frames given to the blank that show no hand, and those of a gloss that the hands cannot be."""
        quiet = silenced(log_probabilities, hands.visible)
        if self.name == HANDS:  # the examples are of its signs
            for span in gloss_spans(quiet):
                if not examples.can_be(self.vocabulary.names[span.label], hands, span.first, span.last):
                    quiet[span.first : span.last + 1] = BLANK_LEAD
                    quiet[span.first : span.last + 1, BLANK] = 0.0
        return quiet

    def hands(self, frames: NDArray[np.uint8], *, on_frame: Callable[[int], None] = lambda done: None) -> HandTracks:
        """The hands in a clip's frames (T, S, S, 3), found once for each of the latest `FOLLOWED` clips; some 26 ms a frame.

        Where none is seen, they are sought again in tiles, as of a hand far away.

        Args:
            on_frame: told how many frames are done. It may raise, which ends the search.

        Raises:
            core.package_files.MissingModels: where the hand finder is not set up.
        """
        key = hashlib.sha256(np.ascontiguousarray(frames).data).hexdigest()
        with self._lock:
            if key not in self._followed:
                # imported here: a machine that only trains has no Pillow and no LiteRT
                finder = self._finder = self._finder or importlib.import_module("core.signs.hands.finder").HandFinder()
                found = hand_tracks.follow(finder, frames, on_frame=on_frame)
                some = frames[:: max(1, len(frames) // PROBED)]  # to search all of them in tiles takes long
                if not found.visible.any() and hand_tracks.follow(finder, some, tiles=True).visible.any():
                    found = hand_tracks.follow(finder, frames, on_frame=on_frame, tiles=True)
                self._followed[key] = found
                if len(self._followed) > FOLLOWED:
                    self._followed.popitem(last=False)
            self._followed.move_to_end(key)
            return self._followed[key]

    def log_probabilities(self, clip: NDArray[Any], *, speaker: str | None = None) -> NDArray[np.float32]:
        """(T', V): the log of each frame's softmax; see `answer`."""
        return self.answer(clip, speaker=speaker, attention=False).log_probabilities

    def confident(self, log_probabilities: NDArray[np.floating]) -> NDArray[np.floating]:
        """(T', V) with the frames of the glosses that do not count (`GlossSpan.counts`) given to the blank."""
        return confident(log_probabilities, self.least_probability, self.min_frames)

    def inputs(self, clip: NDArray[Any], *, speaker: str | None = None) -> Tensor:
        """A clip as `answer` takes it -> the model's input: (1, T, S, S, 3) frames or (1, T', features) of tracks.

        Raises:
            ValueError: as `answer`.
        """
        self._check(clip)
        if self.reads_hands:
            return self.landmark_inputs(self.hands(clip))
        if self.front == "frames":
            return torch.from_numpy(np.ascontiguousarray(clip))[None]
        if not np.isfinite(clip).all():
            raise ValueError(
                compose("every tracked position must be a number: fill in or leave out the frames where one is missing")
            )
        hands = normalised(clip.astype(np.float32), scale_of(self.scales, speaker))
        return torch.from_numpy(features(hands, stride=self.stride))[None]

    def _check(self, clip: NDArray[Any]) -> None:
        size = self.image_size
        shape = (size, size, 3) if self.front == "frames" else (len(COLUMNS),)
        if clip.ndim != len(shape) + 1 or clip.shape[1:] != shape or not len(clip):
            raise BadValue(
                "{name} reads {front} of shape (T, {sides}), one or more, not {shape}",
                name=self.name,
                front=self.front,
                sides=", ".join(map(str, shape)),
                shape=clip.shape,
            )
        if self.front == "frames" and clip.dtype != np.uint8:
            raise BadValue("{name} reads frames of uint8 values, 0 to 255, not {kind}", name=self.name, kind=clip.dtype)

    def landmark_inputs(self, hands: HandTracks) -> Tensor:
        """(1, T, features) of the hands in a film."""
        return torch.from_numpy(hand_tracks.features(hands.points, hands.seen))[None]

    @falls_back
    def encode(self, inputs: Tensor) -> Tensor:
        """(1, T', ...) of `inputs` -> (1, T', D), what attention reads; both on the processor."""
        # 64 pictures at a time bound the memory; the convolutions over tracks need the whole clip
        parts = inputs.split(64, dim=1) if self.config.front == "frames" else (inputs,)
        return torch.cat([self.model.encode(part.to(self.placement.device)).cpu() for part in parts], dim=1)

    @falls_back
    def attend(self, encoded: Tensor) -> tuple[Tensor, AttentionMaps]:
        """(1, T', D) of `encode` -> logits (1, T', V) and each layer's weights (1, heads, T', T'), on the processor."""
        logits, maps = self.model.attend(encoded.to(self.placement.device), return_attention=True)
        return logits.cpu(), {name: weights.cpu() for name, weights in maps.items()}

    @falls_back
    def logits(self, encoded: Tensor) -> Tensor:
        """The same without the weights."""
        return self.model.attend(encoded.to(self.placement.device))[0].cpu()


def silenced(log_probabilities: NDArray[np.float32], seen: NDArray[np.bool_]) -> NDArray[np.float32]:
    """(T, V) with the frames given to the blank that show no hand, nor does a frame next to them.

    Args:
        seen: (T,) whether a hand is seen.
    """
    near = seen.copy()
    near[1:] |= seen[:-1]
    near[:-1] |= seen[1:]
    quiet = log_probabilities.copy()
    quiet[~near] = BLANK_LEAD
    quiet[~near, BLANK] = 0.0
    return quiet


def load_recogniser(name: str = DIGITS, *, folder: Path = checkpoints.FOLDER) -> Recogniser:
    """A shipped checkpoint, or one of another folder.

    Raises:
        core.checkpoints.CheckpointError: where it is missing, damaged or no IIGA.
    """
    return Recogniser(checkpoints.load(name, folder=folder))
