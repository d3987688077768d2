"""Classes: what the teacher shows, the class's answers, reasons, questions and lessons, in this process's memory by a short code.

A class is opened by whoever asks, with a code and a key drawn at random: the code joins, the key leads. What is sent to a phone
lies in slots, each written once per language and numbered anew at every change, so that a phone that was away needs the newest of
each and nothing else. No name, address or time of anybody is kept, and nothing is written to disk. A class that nobody used for
`IDLE_S`, or that is older than `LIFE_S`, is forgotten.
"""

from __future__ import annotations

import hmac
import json
import secrets
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, Final, Protocol

from core.lecture.trial import ARMS, PHASES, Trial
from core.messages import Refusal, compose

LETTERS: Final = "abcdefghjkmnpqrstuvwxyz23456789"
"""Of codes: those that nobody mistakes for another when reading them from a wall."""
CODE_LENGTH: Final = 6
MAX_CLASSES: Final = 100
MAX_QUESTIONS: Final = 100
MAX_VOTERS: Final = 500
MAX_HERE: Final = 300
"""Phones of one class at a time."""
MAX_SHOWN: Final = 200_000
"""Characters of what the teacher shows, in one language."""
MAX_TEXT: Final = 200
"""Characters of a question to the teacher, and of a reason."""
MAX_ASKED: Final = 60
"""Questions to the teacher that wait at once; each phone has at most `MAX_ASKED_EACH` of them."""
MAX_ASKED_EACH: Final = 3
MAX_REASONS: Final = 200
BURST: Final = 12.0
PER_SECOND: Final = 1.0
"""Messages of a phone: so many at once, and so many a second in the long run."""
IDLE_S: Final = 3 * 3600.0
LIFE_S: Final = 12 * 3600.0


Kept = tuple[str, Mapping[str, int]]
"""A student's group, and right answers by test."""


class ClassError(Refusal, ValueError):
    """Refusal of what is sent, or of a class that is not there; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question in one language.

    Attributes:
        key: its name among all questions, the same in every language.
        answer: place of the true option, from 0; phones get it once it is out. right: places of others as true.
        why: goes with the answer.
    """

    key: str
    text: str
    options: Sequence[str]
    answer: int
    right: Sequence[int] = ()
    why: str


class Learner(Protocol):
    """Something that the class teaches together with pictures; both methods are called from any thread."""

    def take(self, who: str, data: bytes) -> Mapping[str, Any]:
        """Learn from what a phone sends; what it is told in return. ValueError says why it is not taken."""
        ...

    def told(self) -> Mapping[str, Any]:
        """State of it that every phone gets."""
        ...


@dataclass
class _Waiting:
    """A question to the teacher: its number, its text, who asked it, and who voted for it."""

    number: int
    text: str
    by: str
    votes: set[str]


@dataclass
class _Class:
    key: str
    began: float
    used: float
    slots: dict[str, tuple[int, Mapping[str, str]]] = field(default_factory=dict)
    answers: dict[str, dict[str, int]] = field(default_factory=dict)
    reasons: dict[str, dict[str, str]] = field(default_factory=dict)
    queue: list[_Waiting] = field(default_factory=list)
    asked: int = 0
    question: str = ""
    options: int = 0
    revealed: bool = False
    told: bool = False
    learner: Learner | None = None
    trials: dict[str, Trial] = field(default_factory=dict)
    lesson: str = ""
    test: Sequence[Asked] = ()
    budgets: dict[str, tuple[float, float]] = field(default_factory=dict)
    here: dict[object, Callable[[], None]] = field(default_factory=dict)


class Classes:
    """All classes of a process; every method may be called from any thread."""

    def __init__(
        self, *, max_classes: int = MAX_CLASSES, idle_s: float = IDLE_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._classes: dict[str, _Class] = {}
        self._lock = RLock()
        self._most, self._idle, self._clock = max_classes, idle_s, clock
        self._number = 0

    def open(self) -> tuple[str, str]:
        """A new class: its code, and the key of whoever leads it.

        Raises:
            ClassError: where as many classes as are kept are in use.
        """
        with self._lock:
            self._forget()
            if len(self._classes) >= self._most:
                raise ClassError("{count} classes are open already: try again later", count=self._most)
            code = _draw()
            while code in self._classes:
                code = _draw()
            now = self._clock()
            self._classes[code] = room = _Class(secrets.token_urlsafe(18), now, now)
            return code, room.key

    def known(self, code: str) -> bool:
        """Tells whether this class is open."""
        with self._lock:
            self._forget()
            return code in self._classes

    def leads(self, code: str, key: str) -> bool:
        """Tells whether this key leads this class."""
        with self._lock:
            room = self._classes.get(code)
            return room is not None and hmac.compare_digest(room.key.encode(), key.encode())

    def close(self, code: str) -> None:
        """Forget a class; its phones are told so."""
        with self._lock:
            room = self._classes.pop(code, None)
            if room is not None:
                _wake(room)

    def show(self, code: str, view: Mapping[str, str], question: Mapping[str, Asked] | None, *, revealed: bool) -> None:
        """Show what the teacher's page shows.

        Args:
            view: JSON by language. question: by language, None where none is asked. revealed: its answer is out.

        Raises:
            ClassError: for a class that is not open, or a view that is too large.
        """
        if any(len(text) > MAX_SHOWN for text in view.values()):
            raise ClassError("a view of more than {count} characters is not sent to the class", count=MAX_SHOWN)
        with self._changing(code) as room:
            first = next(iter(question.values())) if question else None
            if (first.key if first else "") != room.question:
                room.told = False
            room.question, room.options = (first.key, len(first.options)) if first else ("", 0)
            room.revealed = revealed and first is not None
            self._put(room, "view", view)
            self._put(room, "question", {name: _sent(one, revealed=room.revealed) for name, one in (question or {}).items()})
            self._count(room)

    def answer(self, code: str, question: str, voter: str, option: int) -> None:
        """Keep an answer, in place of this voter's earlier one to the same question.

        Args:
            option: chosen, from 0. voter: a token that the browser keeps.

        Raises:
            ClassError: for a class that is not open, or is full; for another question than the one on display, or one whose
                answer is out.
        """
        with self._changing(code) as room:
            if question != room.question or room.revealed:
                raise ClassError(compose("this question is closed"))
            if self._watches(room, voter):
                raise ClassError(compose("this time you watch: the answer comes when it is shown"))
            if not 0 <= option < room.options:
                raise ClassError(compose("this question has no such answer"))
            if question not in room.answers and len(room.answers) >= MAX_QUESTIONS:
                raise ClassError("this class has answered {count} questions: open another", count=MAX_QUESTIONS)
            given = room.answers.setdefault(question, {})
            if voter not in given and len(given) >= MAX_VOTERS:
                raise ClassError("{count} have answered this question, which is the most", count=MAX_VOTERS)
            given[voter] = option
            self._count(room)

    def tally(self, code: str, question: str, options: int) -> list[int]:
        """Counts the answers for each of so many options; zeros for a class or question without answers."""
        with self._lock:
            counts = Counter(self._seen(code).answers.get(question, {}).values())
        return [counts[option] for option in range(options)]

    def give_reason(self, code: str, question: str, voter: str, text: str) -> None:
        """Keep a reason of one sentence, without a name; an empty one takes it back.

        Raises:
            ClassError: for a class that is not open, a question whose answer is not out, or where there are too many.
        """
        with self._changing(code) as room:
            if question != room.question or not room.revealed:
                raise ClassError(compose("reasons are for the question whose answer is out"))
            given = room.reasons.setdefault(question, {})
            said = plain(text)
            if said and voter not in given and len(given) >= MAX_REASONS:
                raise ClassError("{count} have given a reason, which is the most", count=MAX_REASONS)
            if said:
                given[voter] = said
            else:
                given.pop(voter, None)
            self._tell_reasons(room)

    def reasons(self, code: str) -> list[str]:
        """Reasons given for the question on display, in the order of their letters: none stands beside who wrote it."""
        with self._lock:
            room = self._seen(code)
            return sorted(room.reasons.get(room.question, {}).values())

    def tell_reasons(self, code: str, *, on: bool) -> None:
        """Show the reasons to the class, or no longer."""
        with self._changing(code) as room:
            room.told = on
            self._tell_reasons(room)

    def test(self, code: str, lesson: str, phase: str, items: Mapping[str, Sequence[Asked]]) -> None:
        """Begin a test of the lesson's trial on every phone, or end it: without items.

        Args:
            phase: see `trial.PHASES`. items: questions by language.
        """
        with self._changing(code) as room:
            room.test = next(iter(items.values()), ())
            if room.test:
                room.lesson = lesson
                room.trials.setdefault(lesson, Trial()).phase = phase
            texts = {
                language: json.dumps(
                    {"lesson": lesson, "phase": phase, "items": [{"text": one.text, "options": one.options} for one in asked]},
                    ensure_ascii=False,
                )
                for language, asked in items.items()
            }
            self._put(room, "test", texts if room.test else {"": "null"})

    def hand_in(self, code: str, who: str, answers: Sequence[int], kept: Kept | None = None) -> None:
        """Count a phone's right answers to the test on display; a second time is not counted.

        Args:
            kept: group and results that the phone has of the same lesson in another class.

        Raises:
            ClassError: for a class that is not open or is full, or answers to another test.
        """
        with self._changing(code) as room:
            if not room.test or len(answers) != len(room.test):
                raise ClassError(compose("this test is over"))
            trial = room.trials[room.lesson]
            if who not in trial.right and len(trial.right) >= MAX_VOTERS:
                raise ClassError("{count} have answered this question, which is the most", count=MAX_VOTERS)
            right = sum(given in (one.answer, *one.right) for given, one in zip(answers, room.test, strict=True))
            arm, before = kept if kept else ("", {})
            known = {phase: min(max(count, 0), len(room.test)) for phase, count in before.items() if phase in PHASES}
            trial.take(who, trial.phase, right, known, arm if arm in ARMS and "before" in known else "")

    def trial(self, code: str) -> tuple[str, Trial]:
        """The lesson whose trial is on, and the trial as it stands."""
        with self._lock:
            room = self._seen(code)
            return room.lesson, deepcopy(room.trials.get(room.lesson, Trial()))

    def mine(self, code: str, who: str) -> str:
        """JSON of a phone's own group and results, which it keeps: null before the first test."""
        with self._lock:
            room = self._seen(code)
            trial = room.trials.get(room.lesson)
            if trial is None or who not in trial.arms:
                return "null"
            return json.dumps(
                {"lesson": room.lesson, "arm": trial.arms[who], "right": trial.right[who], "watch": trial.watches(who)}
            )

    def _watches(self, room: _Class, who: str) -> bool:
        return room.lesson in room.trials and room.trials[room.lesson].watches(who)

    def ask(self, code: str, by: str, text: str) -> None:
        """Put a question to the teacher into the queue.

        Raises:
            ClassError: for a class that is not open, a text without words, or too many that wait.
        """
        with self._changing(code) as room:
            if not (said := plain(text)):
                raise ClassError(compose("a question needs words"))
            if len(room.queue) >= MAX_ASKED:
                raise ClassError("{count} questions wait already: vote for one of them", count=MAX_ASKED)
            if sum(one.by == by for one in room.queue) >= MAX_ASKED_EACH:
                raise ClassError("{count} questions of yours wait already", count=MAX_ASKED_EACH)
            room.asked += 1
            room.queue.append(_Waiting(room.asked, said, by, {by}))
            self._line_up(room)

    def vote(self, code: str, by: str, number: int) -> None:
        """Vote for a waiting question; a second time takes the vote back.

        Raises:
            ClassError: for a class that is not open. A question that was answered meanwhile is no error.
        """
        with self._changing(code) as room:
            for one in room.queue:
                if one.number == number and (by in one.votes or len(one.votes) < MAX_VOTERS):
                    one.votes ^= {by}
            self._line_up(room)

    def settle(self, code: str, number: int) -> None:
        """Take a question out of the queue: it was answered, or is not to be shown."""
        with self._changing(code) as room:
            room.queue = [one for one in room.queue if one.number != number]
            self._line_up(room)

    def queue(self, code: str) -> list[tuple[int, str, int]]:
        """Waiting questions: number, text, votes; those with the most votes first, then the oldest."""
        with self._lock:
            return _ordered(self._seen(code))

    def learn(self, code: str, learner: Learner | None) -> None:
        """Have the class teach this from now on, until the class is forgotten; None for nothing.

        Raises:
            ClassError: for a class that is not open.
        """
        with self._changing(code) as room:
            room.learner = learner
            self._put(room, "lessons", {"": json.dumps(learner and dict(learner.told()), ensure_ascii=False)})

    def learner(self, code: str) -> Learner | None:
        """The thing that the class teaches; None where there is none."""
        with self._lock:
            return self._seen(code).learner

    def teach(self, code: str, who: str, data: bytes) -> Mapping[str, Any]:
        """Pass a phone's picture to what the class teaches, and what changed to all; what the phone is told in return.

        Raises:
            ClassError: for a class that is not open, or that teaches nothing. ValueError: as the learner's.
        """
        if (learner := self.learner(code)) is None:
            raise ClassError(compose("this class takes no pictures now"))
        answer = learner.take(who, data)
        with self._lock:
            if self.learner(code) is learner:
                self.learn(code, learner)
        return answer

    def join(self, code: str, phone: object, wake: Callable[[], None]) -> None:
        """Call `wake` (from any thread) whenever a slot changes, until the phone leaves.

        Raises:
            ClassError: for a class that is not open, or is full.
        """
        with self._lock:
            room = self._room(code)
            if len(room.here) >= MAX_HERE:
                raise ClassError("{count} phones are in this class, which is the most", count=MAX_HERE)
            room.here[phone] = wake

    def leave(self, code: str, phone: object) -> None:
        """Forget a phone's connection, not its answers."""
        with self._lock:
            self._seen(code).here.pop(phone, None)

    def here(self, code: str) -> int:
        """Phones that are connected."""
        with self._lock:
            return len(self._seen(code).here)

    def slots(self, code: str, language: str, seen: Mapping[str, int]) -> dict[str, tuple[int, str]]:
        """Number and JSON, in this language, of each slot that changed since the numbers in `seen`.

        Raises:
            ClassError: for a class that is not open.
        """
        with self._lock:
            room = self._room(code, used=False)
            return {
                name: (number, texts.get(language) or next(iter(texts.values()), "null"))
                for name, (number, texts) in room.slots.items()
                if seen.get(name) != number
            }

    def allow(self, code: str, who: str) -> bool:
        """Tells whether a phone may send another message now, and counts it."""
        with self._lock:
            room, now = self._room(code, used=False), self._clock()
            left, at = room.budgets.get(who, (BURST, now))
            left = min(BURST, left + PER_SECOND * (now - at))
            if who not in room.budgets and len(room.budgets) >= 2 * MAX_VOTERS:
                room.budgets = {name: kept for name, kept in room.budgets.items() if now - kept[1] < BURST / PER_SECOND}
                if len(room.budgets) >= 2 * MAX_VOTERS:
                    return False
            room.budgets[who] = (left - (left >= 1), now)
            return left >= 1

    def _room(self, code: str, *, used: bool = True) -> _Class:
        self._forget()
        room = self._classes.get(code)
        if room is None:
            raise ClassError(compose("no class is open under this code: ask for the new link"))
        if used:
            room.used = self._clock()
        return room

    def _seen(self, code: str) -> _Class:
        """The class as it is; an empty one where it is not open."""
        return self._classes.get(code) or _Class("", 0, 0)

    @contextmanager
    def _changing(self, code: str) -> Iterator[_Class]:
        """An open class, under the lock; its phones are woken after."""
        with self._lock:
            room = self._room(code)
            yield room
            _wake(room)

    def _put(self, room: _Class, name: str, texts: Mapping[str, str]) -> None:
        if room.slots.get(name, (0, None))[1] != texts:
            self._number += 1
            room.slots[name] = (self._number, texts)

    def _count(self, room: _Class) -> None:
        given = Counter(room.answers.get(room.question, {}).values())
        counts: dict[str, Any] = {"question": room.question, "answers": given.total()}
        if room.revealed:
            counts["tally"] = [given[option] for option in range(room.options)]
        self._put(room, "counts", {"": json.dumps(counts)})
        self._tell_reasons(room)

    def _tell_reasons(self, room: _Class) -> None:
        told = sorted(room.reasons.get(room.question, {}).values()) if room.told and room.revealed else None
        self._put(room, "reasons", {"": json.dumps(told, ensure_ascii=False)})

    def _line_up(self, room: _Class) -> None:
        waiting = [{"number": number, "text": text, "votes": votes} for number, text, votes in _ordered(room)]
        self._put(room, "queue", {"": json.dumps(waiting, ensure_ascii=False)})

    def _forget(self) -> None:
        now = self._clock()
        for code, room in list(self._classes.items()):
            if now - room.used > self._idle or now - room.began > LIFE_S:
                self.close(code)


def plain(text: str) -> str:
    """A text on one line: no control characters, no marks that turn the direction of writing, at most `MAX_TEXT` characters."""
    kept = "".join(" " if one.isspace() else one for one in text[: 4 * MAX_TEXT] if one.isspace() or _is_plain(one))
    return " ".join(kept.split())[:MAX_TEXT].strip()


def _is_plain(letter: str) -> bool:
    return unicodedata.category(letter) not in ("Cc", "Cf", "Co", "Cs", "Cn") or letter == "\N{ZERO WIDTH JOINER}"


def _sent(asked: Asked, *, revealed: bool) -> str:
    """A question as phones get it: what is not revealed does not leave the server."""
    content = {"key": asked.key, "text": asked.text, "options": list(asked.options), "revealed": revealed}
    if revealed:
        content |= {"right": [asked.answer, *asked.right], "why": asked.why}
    return json.dumps(content, ensure_ascii=False)


def _ordered(room: _Class) -> list[tuple[int, str, int]]:
    line = sorted(room.queue, key=lambda one: (-len(one.votes), one.number))
    return [(one.number, one.text, len(one.votes)) for one in line]


def _wake(room: _Class) -> None:
    for wake in room.here.values():
        wake()


def _draw() -> str:
    return "".join(secrets.choice(LETTERS) for _letter in range(CODE_LENGTH))


CLASSES: Final = Classes()
"""Those of this process."""
