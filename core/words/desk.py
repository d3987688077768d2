"""The one network that writes for all visitors: loaded when somebody asks, and given back when nobody has for a while."""

import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attention_light import AttentionScene
from core.device import use_one_thread
from core.garbage_collection import return_memory
from core.words.writer import SHOWN, Head, Writer, Writing, scene_of
from core.workers import Report, WaitingLine, unreported

TOKENS: Final = 200
"""Tokens of a visitor's text, written ones included."""
TEXTS: Final = 2
"""Texts that are written on at once."""
PATIENCE_S: Final = 3.0
"""Seconds after its last token, or its last question for its turn, that a text keeps its place."""
IDLE_S: Final = 600.0
"""Seconds after the last question that the network is given back."""
KEPT: Final = 6
"""Texts whose keys and values are kept, of at most 55 MB each."""
TEMPERATURES: Final = tuple(round(0.1 * i, 1) for i in range(21))
TOP_PS: Final = tuple(round(0.05 * i, 2) for i in range(1, 21))


class Turns:
    """Places of those who write on, and the queue of the others. A place lapses when its holder is gone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, float] = {}

    def ask(self, who: str, now: float) -> int:
        """0 where this text may be written on, else its place in the queue, from 1. Asking again keeps the place."""
        with self._lock:
            self._seen = {one: at for one, at in self._seen.items() if now - at < PATIENCE_S}
            self._seen[who] = now  # a known one stays where it is in the order
            return max(0, list(self._seen).index(who) - TEXTS + 1)

    def leave(self, who: str) -> None:
        """Give a place to the next."""
        with self._lock:
            self._seen.pop(who, None)


@dataclass(frozen=True, kw_only=True, eq=False)
class NextWords:
    """Some tokens that may come next, and all that their probability at any temperature and top-p is computed from.

    Attributes:
        ids, names, scores: of the tokens; log-probabilities. ranks: places among all tokens by probability, from 0.
        totals: logarithm of the sum of exp(score / temperature) over all tokens, one for each of `TEMPERATURES` but 0.
        masses, counts: share and number of the likeliest tokens that have top-p together, (temperatures, top-ps).
    """

    ids: list[int]
    names: list[str]
    scores: list[float]
    ranks: list[int]
    totals: list[float]
    masses: list[list[float]]
    counts: list[list[int]]


def next_words(writer: Writer, scores: NDArray[np.float32], ids: Sequence[int] | None = None) -> NextWords:
    """The likeliest tokens by their log-probabilities (vocabulary,), or the ones that are named."""
    order = np.argsort(-scores, kind="stable")
    chosen = order[:SHOWN] if ids is None else np.asarray(ids)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    ordered = scores[order].astype(np.float64)
    totals, masses, counts = [], [], []
    for temperature in TEMPERATURES[1:]:
        shares = np.exp(ordered / temperature)
        sums = np.cumsum(shares)
        places = np.searchsorted(sums / sums[-1], np.array(TOP_PS) - 1e-12).clip(max=len(sums) - 1)
        totals.append(float(np.log(sums[-1])))
        masses.append((sums[places] / sums[-1]).tolist())
        counts.append((places + 1).tolist())
    return NextWords(
        ids=[int(one) for one in chosen],
        names=[writer.names[one] for one in chosen],
        scores=scores[chosen].astype(float).tolist(),
        ranks=rank[chosen].tolist(),
        totals=totals,
        masses=masses,
        counts=counts,
    )


class Desk:
    """The network, and the texts that it was asked about last."""

    def __init__(self) -> None:
        self.turns = Turns()
        self._lock, self._places = threading.RLock(), WaitingLine(TEXTS)
        self._writer: Writer | None = None
        self._texts: OrderedDict[tuple[tuple[int, ...], frozenset[Head]], Writing] = OrderedDict()
        self._asked = 0.0
        self._timer: threading.Timer | None = None

    @contextmanager
    def writer(self, by: str, report: Report = unreported) -> Iterator[Writer]:
        """The network, for a computation; two run at once.

        Args:
            by: address whose turn it is. report: is told the place in the queue meanwhile; what it raises ends the wait.

        Raises:
            MissingModels: where `make writer` has not been run.
            Stopped: where too many wait.
        """
        with self._places.hold_place(by, report):
            with self._lock:
                self._asked = time.monotonic()
                if self._writer is None:
                    self._writer = Writer()
                    self._wait(IDLE_S)
                found = self._writer
            use_one_thread()
            try:
                yield found
            finally:
                return_memory()  # of what it computed: else some 100 MB stay with each thread

    def _wait(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self.give_back)
        self._timer.daemon = True
        self._timer.start()

    def give_back(self) -> None:
        """Let the network and the texts go, unless somebody asked meanwhile."""
        with self._lock:
            rest = IDLE_S - (time.monotonic() - self._asked)
            if rest > 0:
                self._wait(rest)
                return
            self._writer = None
            self._texts.clear()
        return_memory()

    def state(self, writer: Writer, ids: Sequence[int], off: Collection[Head] = ()) -> Writing:
        """A text as it is kept, or one token further than a kept one, else from its beginning."""
        heads = frozenset(off)
        with self._lock:
            found = self._texts.pop((tuple(ids), heads), None)
            before = None if found else self._texts.pop((tuple(ids[:-1]), heads), None)
        if found is None and before is not None:
            writer.append(before, ids[-1])
            found = before
        state = found or writer.begin(ids, off=heads)
        with self._lock:
            self._texts[tuple(ids), heads] = state
            while len(self._texts) > KEPT:
                self._texts.popitem(last=False)
        return state


def lit_scene(
    writer: Writer, ids: Sequence[int], kept: Sequence[int], state: Writing, falls: NDArray[np.float64] | None, **more: Any
) -> AttentionScene:
    """A text as a scene, lit by what its next word loses without each token where that is known.

    Args:
        kept: places of the tokens that are left of `ids`, whose `state` and `falls` these are; the others look at nothing.
    """
    weights, count, at = state.weights, len(ids), np.asarray(kept)
    whole, shares = np.zeros((*weights.shape[:2], count, count), dtype=np.float32), np.zeros(count)
    whole[:, :, at[:, None], at] = weights
    if falls is not None:
        positive = falls.clip(min=0)  # without the others the word is likelier
        shares[at] = positive / (positive.sum() or 1.0)
    measures = {} if falls is None else {"occlusion": shares}
    return scene_of([writer.names[one] for one in ids], whole, measures=measures, start=int(at[-1]), **more)


def share_of_first(state: Writing) -> float:
    """The first token's share of all weights of those that have a choice: of the tokens after it."""
    return float(state.weights[:, :, 1:, 0].mean()) if len(state.ids) > 1 else 1.0


def shown_numbers(state: Writing) -> dict[str, Any]:
    """Numbers of a text that its notebook finds again: the likeliest next tokens' shares, all others', the first token's."""
    shares = np.exp(np.sort(state.scores.astype(np.float64))[: -SHOWN - 1 : -1])
    return {"likeliest": shares, "all others": 1 - shares.sum(), "first token": share_of_first(state)}


DESK: Final = Desk()
