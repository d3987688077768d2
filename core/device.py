"""Where tensors live: CUDA where there is one, else the CPU. Nothing else in the project asks."""

from __future__ import annotations

import torch


def best_device() -> torch.device:
    """The device to compute on."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def computes_bfloat16(device: torch.device) -> bool:
    """Whether the device multiplies bfloat16 in hardware; a CPU that does not takes several times as long as in float32."""
    if device.type == "cpu":
        return bool(torch.cpu._is_avx512_bf16_supported())
    return device.type == "cuda" and torch.cuda.is_bf16_supported()


def serve_small_inputs() -> None:
    """Compute on one thread from now on: for a process that answers one small input at a time beside other work.

    Splitting a window's forward pass over cores costs more than it saves, and stalls as soon as one of them is busy.
    """
    torch.set_num_threads(1)
