"""Books and small models that several tests of the market use."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from core import checkpoints
from core.market.book import DEEP_COLUMNS, FILE_COLUMNS, BookRows
from core.market.calibration import CallRule
from core.market.events import Trade
from core.market.features import Constants, fit_constants, input_names
from core.market.feeds.protocol import FeedEvent
from core.market.feeds.simulated import MarketProcess, MarketSettings
from core.market.follower import Step
from core.market.labels import Head, fit_alpha, future_move
from core.market.predictor import MarketCard, Predictor
from core.market.session import MarketSession
from core.market.store.rows import RecordedRows
from core.market.store.trades import TradeColumns
from core.models.tlob import CLASSES, TLOB, TLOBConfig

LOB = Path(__file__).parents[2] / "fixtures" / "lob"
EXCERPTS = sorted(LOB.glob("*.parquet"))
"""400 real rows of each of six markets; see NOTICE beside them."""

UNTRAINED: dict[str, Any] = {"data": [], "split": "none", "seed": 0, "command": "none", "versions": {}, "metrics": {}}
"""What a card says of how its weights came to be, where nothing trained them."""
START_MS = 1_700_000_000_000
HEADS: tuple[Head, ...] = (("smoothed", 10), ("forward", 10), ("smoothed", 20), ("forward", 5))


def random_book(rows: int, seed: int, *, tick: float = 0.5, start: float = 1_000.0, pace: float = 0.5) -> BookRows:
    """A lawful book one tick wide at the touch, whose best bid walks at random, moving in about `pace` of the steps."""
    rng = np.random.default_rng(seed)
    moves = rng.integers(-2, 3, rows) * (rng.random(rows) < pace)
    bid = start / tick + np.cumsum(moves)
    levels = np.empty((rows, 40))
    below = np.cumsum(rng.integers(1, 4, (rows, 10)), axis=1)
    above = np.cumsum(rng.integers(1, 4, (rows, 10)), axis=1)
    levels[:, 2::4] = (bid[:, None] - below + below[:, :1]) * tick
    levels[:, 0::4] = (bid[:, None] + above - above[:, :1] + 1) * tick
    levels[:, 1::2] = np.exp(rng.normal(1, 1, (rows, 20)))
    return BookRows(timestamps=START_MS + 250 * np.arange(rows), levels=levels)


def simulated_books(count: int, seed: int = 1) -> list[NDArray[np.float64]]:
    """Books (40,) of the simulated market as it is set by default."""
    market = MarketProcess(seed)
    return [market.step(MarketSettings()).levels for _ in range(count)]


def with_hole(rows: BookRows, at: int, steps: int) -> BookRows:
    """The same rows, `steps` grid steps missing before row `at`."""
    timestamps = rows.timestamps.copy()
    timestamps[at:] += steps * 250
    return BookRows(timestamps=timestamps, levels=rows.levels)


def with_stall(rows: BookRows, at: int, steps: int) -> BookRows:
    """The same, the book of row `at` repeated for so many steps, before what followed."""
    levels = np.concatenate([rows.levels[: at + 1], np.repeat(rows.levels[at : at + 1], steps, axis=0), rows.levels[at + 1 :]])
    return BookRows(timestamps=rows.timestamps[0] + 250 * np.arange(len(levels)), levels=levels)


def frame_from_rows(rows: BookRows) -> pd.DataFrame:
    """The inverse of `rows_from_frame`."""
    deep = np.zeros((len(rows), 0)) if rows.deep is None else rows.deep
    columns = ["timestamp", *FILE_COLUMNS, *DEEP_COLUMNS[: deep.shape[1]]]
    values = np.concatenate([rows.levels, deep], axis=1)
    frame = pd.DataFrame(values, columns=columns[1:])
    frame.insert(0, "timestamp", rows.timestamps)
    return frame


def written(folder: Path, name: str, frame: pd.DataFrame) -> Path:
    """A frame as a file of its name's kind, Parquet or CSV."""
    path = folder / name
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


def read_rows(path: Path, *, deep: bool = False) -> BookRows:
    """All rows of one file."""
    rows = RecordedRows([path])
    return rows.block(0, len(rows), deep=deep)


def real_rows(index: int = 0) -> BookRows:
    """One of the excerpts."""
    return read_rows(EXCERPTS[index])


def read_trades(book: Path) -> list[Trade]:
    """The trades of a book file in time order; none where it has none."""
    columns = TradeColumns([book])
    return columns.between(0, len(columns.times))


def tiny_config(outputs: int = len(HEADS), *, steps: int = 24) -> TLOBConfig:
    inputs = len(input_names("flow"))
    return TLOBConfig(steps=steps, features=inputs, width=8, pairs=1, qkv="single", pooling="last", outputs=outputs, dropout=0.0)


def market_entry(rows: BookRows, heads: Sequence[Head], window: int, *, known_by: Sequence[str] = ()) -> dict[str, Any]:
    """A card's entry with constants and thresholds of these rows, and call rules that are not the identity."""
    return {
        "known_by": list(known_by),
        "constants": asdict(fit_constants(rows.levels, window)),
        "alphas": [fit_alpha([future_move(rows.mid, horizon, kind)]) for kind, horizon in heads],
        "rules": [{"temperature": 0.8 + 0.1 * i, "bias": 0.2 - 0.1 * i, "lean": 0.3 * i} for i in range(len(heads))],
    }


def tiny_card(
    rows: BookRows, heads: Sequence[Head] = HEADS, *, config: TLOBConfig | None = None, **changes: Any
) -> dict[str, Any]:
    """A whole card; `changes` replace entries."""
    config = tiny_config(len(heads)) if config is None else config
    about = {"model": "tlob", "config": config.to_dict(), "classes": list(CLASSES), "heads": [list(head) for head in heads]}
    known = market_entry(rows, heads, config.steps, known_by=("testville", "abc"))
    markets = {"testville": known, "pooled": market_entry(rows, heads, config.steps)}
    return {**about, "transform": "flow", "markets": markets, **UNTRAINED, **changes}


def tiny_model(config: TLOBConfig, seed: int = 1) -> TLOB:
    """Untrained, but with logits far enough apart that its calls vary."""
    torch.manual_seed(seed)
    model = TLOB(config)
    with torch.no_grad():
        for classifier in model.classifiers:
            classifier.fc2.weight.mul_(20)
    return model.eval()


def save_tiny(folder: Path, rows: BookRows, heads: Sequence[Head] = HEADS, *, name: str = "tiny", **changes: Any) -> Path:
    """A checkpoint on disk; returns its card's path."""
    card = tiny_card(rows, heads, **changes)
    return checkpoints.save(name, tiny_model(TLOBConfig(**card["config"])), card, folder=folder)


def tiny_predictor(folder: Path, rows: BookRows, heads: Sequence[Head] = HEADS, **changes: Any) -> Predictor:
    """A predictor that went to disk and back."""
    save_tiny(folder, rows, heads, **changes)
    return Predictor(checkpoints.load("tiny", folder=folder))


def naive_label(mid: Sequence[float] | NDArray[np.float64], t: int, horizon: int, kind: str) -> float:
    """D8 in words: NaN where a mid it needs is not there."""
    w = min(10, horizon)
    if t + horizon >= len(mid):
        return float("nan")
    if kind == "forward":
        future = [mid[t + k] for k in range(1, horizon + 1)]
        return sum(future) / horizon / mid[t] - 1
    if t - w + 1 < 0:
        return float("nan")
    past, future = [mid[t - k] for k in range(w)], [mid[t + horizon - k] for k in range(w)]
    return (sum(future) / w - sum(past) / w) / (sum(past) / w)


def naive_class(move: float, alpha: float) -> int:
    if np.isnan(move):
        return -1
    return 2 if move > alpha else 0 if move < -alpha else 1


def confirmed(session: MarketSession) -> NDArray[np.void]:
    """The confirmed predictions that a session keeps, a record each (`core.market.answers.scoreboard.PredictionLog`)."""
    with session._lock:
        return session.follower.board.log.tail()


class Silent(Predictor):
    """A checkpoint that reads more rows than come, and so never answers."""

    def __init__(self) -> None:
        self.card, self.heads, self.window = {"name": "silent", "weights_sha256": ""}, (("forward", 1),), 1_000_000
        constants = Constants(price_scale_bps=1.0, size_scale=1.0, mean=(), std=())
        entry = MarketCard(name="testville", known_by=(), constants=constants, alphas=(1.0,), rules=(CallRule(),))
        self.markets = {"pooled": entry}


class KeptSteps:
    """A recorder that keeps a session's steps."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def on_event(self, event: FeedEvent) -> None:
        """Nothing is made of it."""

    def on_steps(self, steps: Sequence[Step]) -> None:
        self.steps += steps
