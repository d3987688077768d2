"""Estimates the duration of a training epoch from a few steps of the garments' ViT, timed on each device."""

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import torch
from torch import nn
from torch.nn import functional as F

from core.device import best_device, in_bfloat16
from core.models.vit import ViT, ViTConfig

IMAGES: Final = 55_000
"""Images per epoch: Fashion-MNIST's training images less those for validation."""
BATCH: Final = 64
STEPS: Final = 6
WARM: Final = 2
"""Steps before the timed ones: the first ones allocate memory and choose kernels."""


@dataclass(frozen=True, kw_only=True)
class EpochTime:
    """The time of one training step on a device.

    Attributes:
        device: "cpu" or "cuda". threads: of the CPU. step_s: seconds per step, the median of `STEPS` steps.
    """

    device: str
    threads: int
    step_s: float

    @property
    def epoch_s(self) -> float:
        """Seconds per epoch of `IMAGES` images."""
        return self.step_s * IMAGES / BATCH


def epoch_times(config: ViTConfig) -> Iterator[EpochTime]:
    """Time forward, backward and update on the CPU, and then on the CUDA device where there is one.

    The images are noise: a step costs the same whatever they show.
    """
    kinds = ["cpu"] if best_device().type == "cpu" else ["cpu", best_device().type]
    for kind in kinds:
        device = torch.device(kind)
        yield EpochTime(device=kind, threads=torch.get_num_threads(), step_s=_step_time(config, device))


def _step_time(config: ViTConfig, device: torch.device) -> float:
    torch.manual_seed(0)
    model = ViT(config).to(device).train()
    optimiser = torch.optim.AdamW(model.parameters())
    images = torch.randn(BATCH, 1, config.side, config.side, device=device)
    labels = torch.randint(config.classes, (BATCH,), device=device)
    times = []
    for _ in range(WARM + STEPS):
        began = time.perf_counter()
        with torch.enable_grad(), in_bfloat16(device):
            loss = F.cross_entropy(model(images), labels, label_smoothing=0.1)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return statistics.median(times[WARM:])
