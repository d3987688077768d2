"""Two processes that share each batch learn what one learns: losses, running statistics and weights."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, multiprocessing, nn
from torch.nn import functional as F

from core.nn.norms import BiN
from core.training.loop import LoopSettings, fit
from core.training.shares import leads, own_state, shared

LOOP = LoopSettings(epochs=2, steps_per_epoch=5, peak_rate=0.01, warmup=2)


class Lines:
    """Windows whose mean the model is to tell."""

    validated = 0

    def __init__(self, batch: int = 8) -> None:
        self.batch = batch

    def batches(self, epoch: int) -> Iterator[tuple[Tensor, ...]]:
        generator = torch.Generator().manual_seed(epoch)
        for _ in range(LOOP.steps_per_epoch):
            x = torch.randn(self.batch, 3, 6, generator=generator) * 2 + 1
            yield x, x.mean(dim=(1, 2))

    def loss(self, model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
        return F.mse_loss(model(batch[0]).squeeze(1), batch[1])

    def validate(self, model: nn.Module) -> dict[str, float]:
        self.validated += 1
        return {"score": -float(self.loss(model, next(iter(self.batches(100)))))}


def trained(folder: Path) -> None:
    """Train by whatever group this process is in, and keep what came of it."""
    torch.manual_seed(1)
    model = nn.Sequential(BiN(3), nn.Flatten(), nn.Linear(18, 1))
    lines = Lines()
    state = own_state(folder / "state")
    progress = fit(model, shared(lines, model), LOOP, device=torch.device("cpu"), resume_from=state)
    assert lines.validated == (LOOP.epochs if leads() else 0)
    losses = [row["loss"] for row in progress.history]
    torch.save(
        (model.state_dict(), losses, progress.best_score), folder / f"{dist.get_rank() if dist.is_initialized() else 0}.pt"
    )


def member(rank: int, folder: str) -> None:
    # over the loopback: a machine's own name may stand for an address at which nothing answers
    os.environ["GLOO_SOCKET_IFNAME"] = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2, timeout=timedelta(seconds=120)
    )
    trained(Path(folder))
    with pytest.raises(ValueError, match="a batch of 7 is not shared equally by 2 workers"):
        next(iter(shared(Lines(7), nn.Identity()).batches(0)))
    dist.destroy_process_group()


def member_number(number: int, folder: str) -> None:
    member(number + 1, folder)


def test_two_processes_learn_what_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "")  # set by each process; put back afterwards
    trained(tmp_path)
    weights, losses, score = torch.load(tmp_path / "0.pt")
    with tempfile.TemporaryDirectory() as folder:
        other = multiprocessing.spawn(member_number, (folder,), nprocs=1, join=False)
        try:
            member(0, folder)
            while not other.join():
                pass
        finally:
            for process in other.processes:
                process.terminate()
        for rank in range(2):
            others, other_losses, other_score = torch.load(Path(folder) / f"{rank}.pt")
            assert other_losses == pytest.approx(losses, rel=1e-5) and other_score == pytest.approx(score, rel=1e-4)
            assert others.keys() == weights.keys()
            for name, value in weights.items():
                torch.testing.assert_close(others[name], value, rtol=1e-4, atol=1e-5, msg=name)
