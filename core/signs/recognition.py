"""The model's reading of one clip: probabilities, attention, the best path and its glosses, and the time it took."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.messages import Message, compose
from core.signs.decoding import GlossSpan, confident, gloss_spans
from core.signs.hands.tracks import HandTracks

NO_HAND: Final = compose("No hand is seen, so nothing is read: come closer.")
TWO_HANDS: Final = compose("Two hands are seen, and together no sign that I know: show one alone.")
NO_SIGN: Final = compose("No sign is seen in this clip: it gets no gloss.")


@dataclass(frozen=True, kw_only=True)
class Recognition:
    """The reading of one clip. The arrays are shared and read-only.

    Attributes:
        log_probabilities: (T', V) log of each frame's softmax, index 0 the blank.
        attention: sub-layer's name -> (heads, T', T'); empty where not asked for.
        seconds: (T',) where each of the model's frames lies in the clip. took_s: wall-clock time of the forward pass.
        names: of the vocabulary. least_probability: of a gloss's surest frame, min_frames: that a gloss takes, for it to count.
        hands: what was seen of hands, for a model of landmarks.
    """

    log_probabilities: NDArray[np.float32]
    attention: dict[str, NDArray[np.float32]]
    seconds: NDArray[np.float64]
    took_s: float
    names: tuple[str, ...]
    least_probability: float = 0.0
    min_frames: int = 1
    hands: HandTracks | None = None

    @property
    def probabilities(self) -> NDArray[np.float32]:
        """(T', V) shares of 1."""
        return np.exp(self.log_probabilities)

    @property
    def path(self) -> tuple[str, ...]:
        """The likeliest label of each frame, by name."""
        return tuple(self.names[label] for label in self.log_probabilities.argmax(axis=1).tolist())

    @property
    def glosses(self) -> list[GlossSpan]:
        """The answer's glosses with their frames."""
        return gloss_spans(confident(self.log_probabilities, self.least_probability, self.min_frames))

    @property
    def greedy(self) -> tuple[str, ...]:
        """The best path's sentence."""
        return tuple(self.names[span.label] for span in self.glosses)

    @property
    def spans(self) -> tuple[tuple[str, int, int], ...]:
        """(gloss, first frame, last frame) of each gloss of the answer."""
        return tuple((self.names[span.label], span.first, span.last) for span in self.glosses)

    @property
    def without_gloss(self) -> Message | None:
        """The reason that no gloss is read, a sentence; None where one is. Two hands: in most of the frames that show any."""
        if self.hands is not None and not self.hands.visible.any():
            return NO_HAND
        if self.glosses:
            return None
        two = self.hands is not None and 2 * int(self.hands.seen.all(axis=1).sum()) > int(self.hands.visible.sum())
        return TWO_HANDS if two else NO_SIGN

    @property
    def doubtful(self) -> tuple[tuple[str, float], ...]:
        """The glosses left out of the answer as too unsure or too short, with their probability."""
        left_out = [one for one in gloss_spans(self.log_probabilities) if not one.counts(self.least_probability, self.min_frames)]
        return tuple((self.names[span.label], span.probability) for span in left_out)
