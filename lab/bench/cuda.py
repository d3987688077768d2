"""Speed of the networks on a CUDA device, with the device's own peak and the processor's time in the same run.

Timed by `torch.utils.benchmark`, which waits for the device. Operations are counted by PyTorch's `FlopCounterMode`.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import torch
from torch import nn
from torch.utils.benchmark import Timer
from torch.utils.flop_counter import FlopCounterMode

from core import checkpoints
from core.device import best_device, in_bfloat16
from core.market.predictor import load_predictor
from core.models.vit import ViT
from core.runs.epoch_time import epoch_times
from core.signs.recogniser import ASL, load_recogniser
from core.signs.samples import track_samples

BATCHES: Final = (1, 64, 1024, 8192)
"""Windows of a batch; the device's best one is what a long evaluation wants."""
SQUARE: Final = 8192
"""Side of the matrices whose product gives the peak."""


class CudaRow(NamedTuple):
    """The work, its result with its unit, and its share of the device's peak in bfloat16, nan where none is counted."""

    what: str
    value: float
    unit: str
    share: float = float("nan")


def rows(seconds: float) -> Iterator[CudaRow]:
    """Rows of the table: the peak, a training epoch, windows a second, maps of the view, a film's answer.

    Raises:
        ValueError: without a CUDA device.
    """
    if best_device().type != "cuda":
        raise ValueError("there is no CUDA device: docs/performance.md has what one gave")
    square = torch.randn(SQUARE, SQUARE, device="cuda", dtype=torch.bfloat16)
    peak = 2 * SQUARE**3 / _seconds(lambda: square @ square, seconds)
    yield CudaRow(f"product of two {SQUARE} x {SQUARE} matrices, bfloat16", peak / 1e12, "TFLOP/s", 1.0)
    vit = checkpoints.read_config(checkpoints.read_card("vit"), ViT)
    for one in epoch_times(vit):
        yield CudaRow(f"training epoch of the ViT, 55,000 pictures, {one.device}", one.epoch_s, "s")
    predictor, reader, clip = load_predictor(), load_recogniser(ASL), track_samples()[0]
    tlob, window = predictor.placement.model, torch.randn(1, predictor.window, predictor.config.features, device="cuda")
    for batch in BATCHES:
        for bf16 in (False, True):
            yield _rate(tlob, window.expand(batch, -1, -1).contiguous(), bf16, peak, seconds)
    image = torch.randn(1, 1, vit.side, vit.side, device="cuda")
    for what, model, given in (
        ("TLOB's heads, one window", tlob, window),
        ("the ViT's heads, one picture", ViT(vit).eval().cuda(), image),
    ):
        asked = torch.inference_mode()(lambda model=model, given=given: model(given, return_attention=True))
        yield CudaRow(f"maps of {what}", 1e3 * _seconds(asked, seconds), "ms")
    film = _seconds(lambda: reader.answer(clip.tracks, speaker=clip.speaker), seconds)
    yield CudaRow(f"IIGA's answer to {len(clip.tracks)} frames of hands, with its maps", 1e3 * film, "ms")


def _rate(model: nn.Module, batch: torch.Tensor, bf16: bool, peak: float, seconds: float) -> CudaRow:
    """Windows a second of one batch, and the share of the peak that its counted operations make."""

    @torch.inference_mode()
    def work() -> object:
        with in_bfloat16(batch.device, wanted=bf16):
            return model(batch)

    with FlopCounterMode(display=False) as counted:
        work()
    passed = _seconds(work, seconds)
    what = f"TLOB, {len(batch):,} windows at once, {'bfloat16' if bf16 else 'float32'}"
    return CudaRow(what, len(batch) / passed, "windows/s", counted.get_total_flops() / passed / peak)


def _seconds(work: Callable[[], object], seconds: float) -> float:
    """Median seconds of a call."""
    return Timer("work()", globals={"work": work}).blocked_autorange(min_run_time=seconds).median
