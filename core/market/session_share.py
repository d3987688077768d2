"""A session's part in a feed that several processes share: what it may keep, and what it takes from the process that leads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.market.answers.scoreboard import Scoreboard
from core.market.book import FloatArray
from core.market.feeds.protocol import Feed, SharedEvent
from core.market.feeds.redis_feed import SharedFeed
from core.market.grid import GridItem
from core.market.predictor import Predictions
from core.market.shared_steps import Leading, SharedStep, parts
from core.market.stream import score_rows


class SessionShare:
    """Used by the session's worker thread; of a feed that is not shared everything is the session's own."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed if isinstance(feed, SharedFeed) else None
        self._token: str | None = None
        self._scores: FloatArray | None = None

    def parts(self, batch: Sequence[GridItem | SharedEvent]) -> Iterator[tuple[Sequence[GridItem], SharedStep | None]]:
        """A batch as runs of items: the session's own to predict (None), and the leader's with what it predicted.

        What this process took from the venue when it was no longer to lead is left out.
        """
        for part in parts(batch):
            if isinstance(part, Leading):
                self._token, self._scores = part.token, None
            elif isinstance(part, SharedStep):
                self._scores = part.scores if len(part.scores) else self._scores
                yield part.items, part
            elif isinstance(part, list) and (self._feed is None or self._token is not None):
                yield part, None

    def keep(
        self, items: Sequence[GridItem], predicted: Sequence[bool], predictions: Predictions | None, board: Scoreboard, step: int
    ) -> bool:
        """Write a run of the session's own down for the others; False where another leads by now, and it is to be forgotten."""
        if self._feed is None:
            return True
        kept = self._feed.share(self._token or "", items, predicted, predictions, step=step, scores=score_rows(board))
        if not kept:
            self._token = None
        return kept

    def scores(self, board: Scoreboard) -> FloatArray:
        """Each head's scores as `core.market.stream.score_rows` has them: the leader's while this process follows."""
        return score_rows(board) if self._scores is None else self._scores
