"""Chooses the device to compute on: CUDA where there is one, else the CPU."""

from __future__ import annotations

import torch


def best_device() -> torch.device:
    """CUDA where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def computes_bfloat16(device: torch.device) -> bool:
    """Tells whether the device multiplies bfloat16 in hardware; other CPUs take several times as long as in float32."""
    if device.type == "cpu":
        return bool(torch.cpu._is_avx512_bf16_supported())
    return device.type == "cuda" and torch.cuda.is_bf16_supported()


def use_one_thread() -> None:
    """Compute on one thread from now on, for a process that predicts one window at a time beside other work.

    Splitting a window's forward pass over cores costs more than it saves, and waits for the slowest of them.
    """
    torch.set_num_threads(1)
