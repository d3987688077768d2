"""Speed of the networks on a CUDA device, with the device's own peak and the processor's time in the same run.

Timed by `torch.utils.benchmark`, which waits for the device. Operations are counted by PyTorch's `FlopCounterMode`.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

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


@dataclass(frozen=True, kw_only=True)
class CudaRow:
    """One line of the table.

    Attributes:
        what: the work. value, unit: its result. share: of the device's peak in bfloat16, nan where none is counted.
    """

    what: str
    value: float
    unit: str
    share: float = float("nan")

    def as_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


def rows(seconds: float) -> Iterator[CudaRow]:
    """Rows of the table: the peak, a training epoch, windows a second, a film's answer, maps of the view.

    Raises:
        ValueError: without a CUDA device.
    """
    if best_device().type != "cuda":
        raise ValueError("there is no CUDA device: docs/performance.md has what one gave")
    square = torch.randn(SQUARE, SQUARE, device="cuda", dtype=torch.bfloat16)
    peak = 2 * SQUARE**3 / _seconds(lambda: square @ square, seconds)
    yield CudaRow(what=f"product of two {SQUARE} x {SQUARE} matrices, bfloat16", value=peak / 1e12, unit="TFLOP/s", share=1.0)
    vit = checkpoints.read_config(checkpoints.read_card("vit"), ViT)
    for one in epoch_times(vit):
        yield CudaRow(what=f"training epoch of the ViT, 55,000 pictures, {one.device}", value=one.epoch_s, unit="s")
    predictor = load_predictor()
    window = torch.randn(1, predictor.window, predictor.config.features)
    tlob = predictor.placement.model
    for batch in BATCHES:
        for bf16 in (False, True):
            yield _rate(tlob, window.expand(batch, -1, -1).cuda().contiguous(), bf16, peak, seconds)
    yield CudaRow(what="maps of TLOB's heads, one window", value=1e3 * _seconds(_asked(tlob, window.cuda()), seconds), unit="ms")
    image = torch.randn(1, 1, vit.side, vit.side, device="cuda")
    yield CudaRow(
        what="maps of the ViT's heads, one picture",
        value=1e3 * _seconds(_asked(ViT(vit).eval().cuda(), image), seconds),
        unit="ms",
    )
    reader, clip = load_recogniser(ASL), track_samples()[0]
    film = _seconds(lambda: reader.answer(clip.tracks, speaker=clip.speaker), seconds)
    yield CudaRow(what=f"IIGA's answer to {len(clip.tracks)} frames of hands, with its maps", value=1e3 * film, unit="ms")


def _rate(model: nn.Module, batch: torch.Tensor, bf16: bool, peak: float, seconds: float) -> CudaRow:
    """Windows a second of one batch, and the share of the peak that its counted operations make."""

    def work() -> object:
        with torch.inference_mode(), in_bfloat16(batch.device, wanted=bf16):
            return model(batch)

    with FlopCounterMode(display=False) as counted:
        work()
    passed = _seconds(work, seconds)
    return CudaRow(
        what=f"TLOB, {len(batch):,} windows at once, {'bfloat16' if bf16 else 'float32'}",
        value=len(batch) / passed,
        unit="windows/s",
        share=counted.get_total_flops() / passed / peak,
    )


def _asked(model: nn.Module, given: torch.Tensor) -> Callable[[], object]:
    def work() -> object:
        with torch.inference_mode():
            return model(given, return_attention=True)

    return work


def _seconds(work: Callable[[], object], seconds: float) -> float:
    """Median seconds of a call."""
    return Timer("work()", globals={"work": work}).blocked_autorange(min_run_time=seconds).median
