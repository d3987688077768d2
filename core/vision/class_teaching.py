"""Own classes that many phones teach together: features of their pictures, a head fitted as they come, its held-out score.

A picture is a small JPEG; it is read once and let go. Kept are its features alone, in memory. Each fifth of the phones is asked
about by a head that learnt from the other phones: pictures of one phone show one desk, and are no test of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

import numpy as np

from core.messages import compose
from core.vision.classifier import Classifier
from core.vision.own_classes import FEWEST, FOLDS, Floats, OwnClasses, OwnClassesError, as_read, base_of, checked_names, fit_head
from core.vision.pictures import decode

ASK: Final = 255
"""Number of the class with which a phone asks without teaching."""
MAX_PHONES: Final = 100
MAX_EACH: Final = 30
"""Pictures of one phone for one class."""
MAX_PICTURES: Final = 3_000
"""Of all phones; their features take 1.5 MB."""
MAX_PIXELS: Final = 1 << 20
Z: Final = 1.96
"""Of a normal distribution's 95 %."""


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """Held-out score after so many pictures of so many phones, with its interval of 95 %."""

    pictures: int
    phones: int
    share: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, eq=False)
class _Sample:
    """A picture's features (1, width) float32, its class, and the number of its phone."""

    phone: int
    row: int
    features: np.ndarray[Any, np.dtype[np.float32]]


class ClassTeaching:
    """A head that a class teaches; every method may be called from any thread.

    Attributes:
        names: of the classes. head: fitted last; None before. curve: the scores so far, an entry for each fit.
    """

    def __init__(self, classifier: Classifier, names: Sequence[str]) -> None:
        self.classifier, self.names = classifier, checked_names(names)
        self.head: OwnClasses | None = None
        self.curve: list[HeldOut] = []
        self._samples: list[_Sample] = []
        self._phones: dict[str, int] = {}
        self._out: set[int] = set()
        self._changed = False
        self._lock, self._fitting = Lock(), Lock()  # the second is taken first

    def take(self, who: str, data: bytes) -> Mapping[str, Any]:
        """Learn from a phone's message: the number of a class as a byte, `ASK` for none, and a JPEG.

        Returns:
            `row` of the class, `mine` pictures of it by this phone; `name`, `share` and `familiar` of what the head says, which
            has not learnt from this picture, once there is a head.

        Raises:
            OwnClassesError: for another class, a phone that was taken out, or too many. PictureError: for no picture.
        """
        row, jpeg = data[0] if data else ASK, data[1:]
        if row != ASK and row >= len(self.names):
            raise OwnClassesError(compose("there is no such class"))
        if not jpeg.startswith(b"\xff\xd8"):
            raise OwnClassesError(compose("a picture for the class is a JPEG"))
        features = self.classifier.features(as_read(self.classifier, decode(jpeg, max_pixels=MAX_PIXELS))[None])
        answer: dict[str, Any] = {"row": row}
        if (head := self.head) is not None:
            shares, familiar = head.answer_features(features)
            best = int(shares.argmax())
            answer |= {"name": self.names[best], "share": round(float(shares[best]), 3), "familiar": familiar}
        if row != ASK:
            answer["mine"] = self._keep(who, row, features)
        return answer

    def _keep(self, who: str, row: int, features: Floats) -> int:
        with self._lock:
            if who not in self._phones and len(self._phones) >= MAX_PHONES:
                raise OwnClassesError("{count} phones teach already, which is the most", count=MAX_PHONES)
            phone = self._phones.setdefault(who, len(self._phones) + 1)
            if phone in self._out:
                raise OwnClassesError(compose("whoever leads the class took this phone's pictures out and takes no more of them"))
            mine = sum(one.phone == phone and one.row == row for one in self._samples)
            if mine >= MAX_EACH:
                raise OwnClassesError("{count} pictures of a class are the most that one phone gives", count=MAX_EACH)
            if len(self._samples) >= MAX_PICTURES:
                raise OwnClassesError("the class has {count} pictures, which is the most", count=MAX_PICTURES)
            self._samples.append(_Sample(phone=phone, row=row, features=features.astype(np.float32)))
            self._changed = True
            return mine + 1

    def remove(self, phone: int) -> None:
        """Take a phone's pictures out, and take no more of it."""
        with self._lock:
            self._out.add(phone)
            self._samples = [one for one in self._samples if one.phone != phone]
            self._changed = True

    def phones(self) -> dict[int, int]:
        """Pictures by each phone's number, of those that teach."""
        with self._lock:
            return dict(sorted(Counter(one.phone for one in self._samples).items()))

    def counts(self) -> list[int]:
        """Pictures of each class."""
        with self._lock:
            taught = Counter(one.row for one in self._samples)
        return [taught[row] for row in range(len(self.names))]

    def learn(self) -> bool:
        """Fit the head anew where pictures came or went since; tells whether it changed.

        There is none while a class has fewer than `FEWEST` pictures, or those of one fifth of the phones alone.
        """
        with self._fitting:  # one at a time: an earlier one that takes longer would bring pictures back that are out
            return self._learn()

    def _learn(self) -> bool:
        with self._lock:
            if not self._changed:
                return False
            samples, self._changed = list(self._samples), False
        labels = np.array([one.row for one in samples], dtype=np.int64)
        phones = np.array([one.phone for one in samples], dtype=np.int64)
        folds = phones % FOLDS
        if any((labels == row).sum() < FEWEST or len(set(folds[labels == row])) < 2 for row in range(len(self.names))):
            changed, self.head = self.head is not None, None
            return changed
        features = np.concatenate([one.features for one in samples]).astype(np.float64)
        self.head, right = fit_head(self.names, features, labels, folds, base_of(self.classifier))
        count = len(set(phones))
        low, high = wilson(float(right.mean()), count)
        self.curve.append(HeldOut(pictures=len(samples), phones=count, share=float(right.mean()), low=low, high=high))
        return True

    def told(self) -> Mapping[str, Any]:
        """Names, pictures of each class and the score, for every phone."""
        score = self.curve[-1] if self.head and self.curve else None
        return {
            "names": self.names,
            "counts": self.counts(),
            "score": score and {"pictures": score.pictures, "share": score.share, "low": score.low, "high": score.high},
        }


def wilson(share: float, count: int) -> tuple[float, float]:
    """Interval of 95 % of a share of `count` independent answers (Wilson 1927).

    Here `count` is the number of phones: a phone's pictures resemble each other, so it counts once, however many it sent.
    """
    middle = (share + Z * Z / (2 * count)) / (1 + Z * Z / count)
    half = Z / (1 + Z * Z / count) * math.sqrt(share * (1 - share) / count + Z * Z / (4 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)
