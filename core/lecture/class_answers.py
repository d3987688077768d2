"""Answers of a class, in this process's memory: counts by question, under a code that the class's link carries.

A class is opened by whoever asks, with a code drawn at random. An answer belongs to a token that the browser's session drew; no
name, address or time of an answer is kept, and nothing is written to disk. A class that nobody used for `IDLE_S` is forgotten.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from core.messages import compose

LETTERS: Final = "abcdefghjkmnpqrstuvwxyz23456789"
"""Of codes: those that nobody mistakes for another when reading them from a wall."""
CODE_LENGTH: Final = 6
MAX_CLASSES: Final = 200
MAX_QUESTIONS: Final = 100
MAX_VOTERS: Final = 500
IDLE_S: Final = 3 * 3600.0


class ClassError(ValueError):
    """An answer, or a class, that is not taken; the message says why."""


@dataclass
class _Class:
    used: float
    answers: dict[str, dict[str, int]] = field(default_factory=dict)


class ClassAnswers:
    """The answers of all classes; every method may be called from any thread."""

    def __init__(
        self, *, max_classes: int = MAX_CLASSES, idle_s: float = IDLE_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._classes: dict[str, _Class] = {}
        self._lock = Lock()
        self._most, self._idle, self._clock = max_classes, idle_s, clock

    def open(self) -> str:
        """A new class; its code.

        Raises:
            ClassError: where as many classes as are kept are in use.
        """
        with self._lock:
            self._forget()
            if len(self._classes) >= self._most:
                raise ClassError(compose("{count} classes are open already: try again later", count=self._most))
            code = _draw()
            while code in self._classes:
                code = _draw()
            self._classes[code] = _Class(self._clock())
            return code

    def known(self, code: str) -> bool:
        """Tells whether this class is open."""
        with self._lock:
            self._forget()
            return code in self._classes

    def answer(self, code: str, question: str, voter: str, option: int) -> None:
        """Keep an answer, in place of this voter's earlier one to the same question.

        Args:
            option: chosen, from 0. voter: a token of the browser's session.

        Raises:
            ClassError: for a class that is not open, or is full.
        """
        with self._lock:
            self._forget()
            room = self._classes.get(code)
            if room is None:
                raise ClassError(compose("no class is open under this code: switch the class on again and share the new link"))
            room.used = self._clock()
            if question not in room.answers and len(room.answers) >= MAX_QUESTIONS:
                raise ClassError(compose("this class has answered {count} questions: open another", count=MAX_QUESTIONS))
            given = room.answers.setdefault(question, {})
            if voter not in given and len(given) >= MAX_VOTERS:
                raise ClassError(compose("{count} have answered this question, which is the most", count=MAX_VOTERS))
            given[voter] = option

    def tally(self, code: str, question: str, options: int) -> list[int]:
        """Counts the answers for each of so many options; zeros for a class or question without answers."""
        with self._lock:
            room = self._classes.get(code)
            counts = Counter(room.answers.get(question, {}).values()) if room else Counter[int]()
        return [counts[option] for option in range(options)]

    def _forget(self) -> None:
        now = self._clock()
        for code in [code for code, room in self._classes.items() if now - room.used > self._idle]:
            del self._classes[code]


def _draw() -> str:
    return "".join(secrets.choice(LETTERS) for _letter in range(CODE_LENGTH))


ANSWERS: Final = ClassAnswers()
"""Those of this process."""
