"""A training run shared by several processes: each takes its share of every batch, and gradients are averaged over them.

The processes belong to one group of `torch.distributed`. Without one, everything here leaves a run as it is.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from core.training.loop import Batch, Task


def leads() -> bool:
    """Whether this process writes the results: the first of its group, or one without a group."""
    return not dist.is_initialized() or dist.get_rank() == 0


def shared(task: Task, model: nn.Module) -> Task:
    """The task as one process of its group sees it; the task itself where there is no group.

    The model's batch normalisations compute over the whole batch from then on, not over a share of it.
    """
    if not dist.is_initialized():
        return task
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.__class__ = WholeBatchNorm  # which has the same weights by the same names
    return SharedTask(task)


def own_state(state: Path | None) -> Path | None:
    """Where this process keeps the run's state: at `state` the process that leads, the others a copy of it."""
    if state is None or leads():
        return state
    copy = Path(tempfile.mkdtemp(prefix="share-")) / state.name
    for suffix in (".safetensors", ".json"):
        if state.with_suffix(suffix).exists():
            shutil.copyfile(state.with_suffix(suffix), copy.with_suffix(suffix))
    return copy


class SharedTask:
    """A task of which this process computes every batch's rows `rank`, `rank + world`, ...

    The loss is a mean over rows, so that the mean of equal shares' gradients is the whole batch's gradient.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._rank, self._world = dist.get_rank(), dist.get_world_size()
        self._together: DistributedDataParallel | None = None

    def batches(self, epoch: int) -> Iterator[Batch]:
        """This process's share of each batch.

        Raises:
            ValueError: where a batch cannot be shared out equally.
        """
        for batch in self._task.batches(epoch):
            if len(batch[0]) % self._world:
                raise ValueError(f"a batch of {len(batch[0])} is not shared equally by {self._world} workers: give a multiple")
            yield tuple(part[self._rank :: self._world] for part in batch)

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        if self._together is None:  # only now is the model on its device
            self._together = DistributedDataParallel(model, forward_sync_buffers=False)
        mine = self._task.loss(self._together, batch)
        whole = mine.detach().clone()
        dist.all_reduce(whole)
        return mine + (whole / self._world - mine.detach())  # the whole batch's loss, with this share's gradient

    def validate(self, model: nn.Module) -> dict[str, float]:
        """By the process that leads; the others wait for its numbers, by which all choose the same best epoch."""
        found = [self._task.validate(model) if leads() else None]
        dist.broadcast_object_list(found, src=0)
        assert found[0] is not None
        return found[0]


class SumOfAll(torch.autograd.Function):
    """The sum over all processes; a gradient is summed likewise, since each process's loss depends on the others' values."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        """Of any shape, the same in each process."""
        total = values.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        """Of the same shape."""
        return sum_of_all(gradient.contiguous())


def sum_of_all(values: Tensor) -> Tensor:
    """The sum of every process's values."""
    total: Tensor = SumOfAll.apply(values)  # type: ignore[no-untyped-call]
    return total


class WholeBatchNorm(nn.BatchNorm1d):
    """Batch normalisation by mean and variance over all processes' shares (PyTorch's own needs GPUs)."""

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, length) -> the same shape."""
        if not self.training:
            return super().forward(x)
        whole = x.float()
        sums = torch.stack([whole.sum(dim=(0, 2)), (whole**2).sum(dim=(0, 2))])
        count = x.shape[0] * x.shape[2] * dist.get_world_size()
        mean, square = sum_of_all(sums) / count
        variance = (square - mean**2).clamp_min(0)
        with torch.no_grad():
            share = self.momentum or 0.0
            self.running_mean.lerp_(mean, share)  # type: ignore[union-attr]
            self.running_var.lerp_(variance * count / (count - 1), share)  # type: ignore[union-attr]
            self.num_batches_tracked.add_(1)  # type: ignore[union-attr]
        scale = self.weight * torch.rsqrt(variance + self.eps)
        return (whole - mean[:, None]) * scale[:, None] + self.bias[:, None]
