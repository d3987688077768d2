"""Speed as ratios: each network beside a named reference, measured in turns, so that a busy machine slows both alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from torch import nn
from torch.utils.benchmark import Timer

from core import checkpoints
from core.market.predictor import load_predictor
from core.models.tlob import BTC, TLOB
from core.models.vit import ViT, ViTConfig

Work = Callable[[], object]
TURN_S: Final = 0.02
LEAST_TURNS: Final = 5


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One line of the table.

    Attributes:
        what, reference: names. aim: the ratio to stay at or below.
        make: builds the work of both; may take seconds.
    """

    what: str
    reference: str
    aim: float
    make: Callable[[], tuple[Work, Work]]


def _inferring(function: Work) -> Work:
    """The function as a prediction calls it, without gradients."""
    return torch.inference_mode()(function)


def _window(*, maps: bool) -> tuple[Work, Work]:
    """One window through the TLOB that predicts, and through the document's listing in one pass."""
    predictor, listing = load_predictor(), TLOB(BTC).eval()
    window = torch.randn(1, predictor.window, predictor.config.features, device=predictor.device)
    theirs = torch.randn(1, BTC.steps, BTC.features)
    return _inferring(lambda: predictor.model(window, return_attention=maps)), _inferring(lambda: listing(theirs))


def _image() -> tuple[Work, Work]:
    """An image through the shipped ViT's size, and its tokens through PyTorch's encoder, which has no patches and no head."""
    c: ViTConfig = checkpoints.read_config(checkpoints.read_card("vit"), ViT)
    layer = nn.TransformerEncoderLayer(c.width, c.heads, c.hidden, dropout=c.dropout, activation="gelu", batch_first=True)
    model, theirs = ViT(c).eval(), nn.TransformerEncoder(layer, c.layers).eval()
    image, tokens = torch.randn(1, 1, c.side, c.side), torch.randn(1, 1 + c.grid**2, c.width)
    return _inferring(lambda: model(image)), _inferring(lambda: theirs(tokens))


LISTING: Final = "the document's listing, one pass"
COMPARISONS: Final[Mapping[str, Comparison]] = {
    "tlob": Comparison(
        what="shipped TLOB, one window, both passes", reference=LISTING, aim=0.8, make=lambda: _window(maps=False)
    ),
    "tlob-maps": Comparison(what="the same with all maps", reference=LISTING, aim=0.8, make=lambda: _window(maps=True)),
    "vit-1": Comparison(what="ViT forward, one image", reference="nn.TransformerEncoder of its size", aim=1.1, make=_image),
}


def ratio(works: Sequence[Work], seconds: float, *, clock: Callable[[], float] = time.perf_counter) -> dict[str, float]:
    """A candidate's time by its reference's, on one thread: the median over turns, with the 10th and 90th percentile.

    Args:
        works: the candidate's and the reference's. seconds: of measurement in all, after a warm-up.

    Returns:
        `ratio`, `low`, `high`, and the median milliseconds of a call, `candidate_ms` and `reference_ms`.
    """
    timers = [Timer("work()", globals={"work": work}, timer=clock) for work in works]
    calls = [max(1, int(TURN_S / timer.timeit(1).mean)) for timer in timers]
    turns: list[list[float]] = []
    end = clock() + seconds
    while len(turns) < LEAST_TURNS or clock() < end:
        turns.append([1e3 * timer.timeit(count).mean for timer, count in zip(timers, calls, strict=True)])
    candidate, reference = np.array(turns).T
    low, middle, high = np.percentile(candidate / reference, [10, 50, 90])
    named = {"ratio": middle, "low": low, "high": high}
    named |= {"candidate_ms": np.median(candidate), "reference_ms": np.median(reference)}
    return {name: round(float(value), 4) for name, value in named.items()}


def rows(seconds: float) -> Iterator[dict[str, str | float]]:
    """Rows of the table, each as it is measured."""
    for name, one in COMPARISONS.items():
        yield {"name": name, "what": one.what, "reference": one.reference, "aim": one.aim, **ratio(one.make(), seconds)}
