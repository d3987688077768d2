"""Measurements of the models on a CUDA card: latency, throughput, share of its peak, memory (an epoch: `core.runs.epoch_time`).

Everything here needs a CUDA device; `available` says whether there is one. A graph replays a pass without calling its operations
one by one from Python, which for one window takes most of the time.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Final

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from core.bench.networks import inferring, shipped
from core.bench.ratio import Work
from core.device import computes_bfloat16
from core.market.predictor import load_predictor
from core.messages import compose

BATCHES: Final = (1, 8, 32, 128, 512, 2048)
"""Windows in a pass, up to where more of them no longer bring more a second."""
PEAK_SIDE: Final = 8192
"""Rows and columns of the matrices whose product counts as the card's peak."""
CALLS: Final = 20
NO_CARD: Final = compose(
    "No CUDA device here: CUDA graphs, bfloat16, larger batches, the share of the card's peak, its memory and an epoch of the "
    "ViT on it are not measured."
)


@dataclass(frozen=True, kw_only=True)
class CardFigure:
    """One measured value of a card."""

    what: str
    value: float
    unit: str


def available() -> bool:
    """Tells whether there is a CUDA device."""
    return torch.cuda.is_available()


def measured() -> Iterator[CardFigure]:
    """All of it, one after another; about a minute.

    Raises:
        RuntimeError: without a CUDA device.
    """
    if not available():
        raise RuntimeError(NO_CARD)
    device = torch.device("cuda")
    model, window = shipped(1)
    yield from one_window(model.to(device), window.to(device))
    yield from over_batches(load_predictor().model.to(device), window.to(device))  # as trained: that for prediction cuts batches


def one_window(model: nn.Module, window: Tensor) -> Iterator[CardFigure]:
    """One window, called from Python, by a CUDA graph, and by a graph in bfloat16."""
    eager = inferring(lambda: model(window))
    yield CardFigure(what=compose("TLOB, one window"), value=milliseconds(eager), unit="ms")
    yield CardFigure(what=compose("the same by a CUDA graph"), value=milliseconds(graph(model, window)), unit="ms")
    if computes_bfloat16(window.device):
        halved = graph(model, window, lambda: torch.autocast("cuda", torch.bfloat16))
        yield CardFigure(what=compose("the same in bfloat16"), value=milliseconds(halved), unit="ms")


def over_batches(model: nn.Module, window: Tensor) -> Iterator[CardFigure]:
    """Windows a second by batch, then at the best: the share of the card's peak and the memory it takes."""
    best, fastest = 0, 0.0
    for batch in BATCHES:
        windows = window.expand(batch, *window.shape[1:]).contiguous()
        rate = batch / milliseconds(inferring(partial(model, windows))) * 1e3
        yield CardFigure(what=compose("TLOB, {n} windows in a pass", n=batch), value=rate, unit=compose("windows a second"))
        best, fastest = max((best, fastest), (batch, rate), key=lambda one: one[1])
    windows = window.expand(best, *window.shape[1:]).contiguous()
    torch.cuda.reset_peak_memory_stats()
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        model(windows)
    memory = torch.cuda.max_memory_allocated()
    share = counter.get_total_flops() / best * fastest / peak()
    yield CardFigure(what=compose("share of the peak of a matrix product, {n} windows", n=best), value=100 * share, unit="%")
    yield CardFigure(what=compose("memory taken, {n} windows", n=best), value=memory / 2**20, unit="MiB")


def peak() -> float:
    """Floating-point operations a second of a product of two large float32 matrices, as the models multiply them."""
    side = torch.randn(PEAK_SIDE, PEAK_SIDE, device="cuda")
    return 2 * PEAK_SIDE**3 / (milliseconds(inferring(lambda: side @ side)) / 1e3)


def graph(model: nn.Module, window: Tensor, precision: Callable[[], AbstractContextManager[object]] = nullcontext) -> Work:
    """A recorded pass over this window, which each call replays; the answer's tensors are the same at every call."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.inference_mode(), precision(), torch.cuda.stream(side):
        for _ in range(3):  # the libraries choose their algorithms before the recording
            model(window)
    torch.cuda.current_stream().wait_stream(side)
    recorded = torch.cuda.CUDAGraph()
    with torch.inference_mode(), precision(), torch.cuda.graph(recorded):
        answer = model(window)

    def replay() -> object:
        recorded.replay()
        return answer

    return replay


def milliseconds(work: Work, calls: int = CALLS) -> float:
    """Median time of a call until the card has finished it."""
    times = []
    for _ in range(calls + 3):
        torch.cuda.synchronize()
        began = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - began) * 1e3)
    return statistics.median(times[3:])
