"""The training loop of all models: a task gives the batches, the loss and the validation scores.

After karpathy/minGPT's trainer: progress bars are callbacks (`core.training.progress`).
"""

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import torch
from safetensors import safe_open
from safetensors.torch import save as packed
from torch import Tensor, nn

from core.device import in_bfloat16
from core.files import write_bytes
from core.schedules import warmup_cosine

Batch = tuple[Tensor, ...]
PROGRESS: Final = "progress"
"""Entry of a state's metadata: the run's progress as JSON."""


class Task(Protocol):
    """Batches, loss and validation of one model."""

    def batches(self, epoch: int) -> Iterable[Batch]:
        """The batches of an epoch; the same for the same epoch and seed."""
        ...

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """A scalar to minimise."""
        ...

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Metrics on the validation part, among them `score`, higher for better models."""
        ...


@dataclass(frozen=True, kw_only=True)
class LoopSettings:
    """Settings of the loop and the optimiser.

    Attributes:
        epochs: calls of `Task.batches`. steps_per_epoch: number of its batches, for the schedule and the progress bar.
        peak_rate: AdamW's learning rate after warm-up. warmup: steps up to it. weight_decay: AdamW's.
        clip: largest gradient norm. ema: decay of the weights' exponential moving average, 0 for none.
        patience: epochs without a better score before stopping early, 1 or more.
        bf16: run the forward pass in bfloat16 where the device multiplies it in hardware.
        seed: of PyTorch's random numbers.

    Raises:
        ValueError: for no epochs, no steps or no patience.
    """

    epochs: int
    steps_per_epoch: int
    peak_rate: float = 1e-3
    weight_decay: float = 0.01
    warmup: int = 200
    clip: float = 1.0
    ema: float = 0.0
    patience: int = 1_000
    bf16: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.steps_per_epoch < 1 or self.patience < 1:
            raise ValueError(
                f"{self.epochs} epochs of {self.steps_per_epoch} steps with a patience of {self.patience} train nothing: "
                "each must be 1 or more (a step takes a whole batch of windows)"
            )


@dataclass
class TrainingProgress:
    """State of a run, passed to callbacks after each step and each epoch.

    Attributes:
        step, epoch: completed. loss, rate: of the last step. best_score, best_epoch: so far.
        history: one row per epoch: epoch, step, mean loss, rate, seconds and the validation metrics.
    """

    step: int = 0
    epoch: int = 0
    loss: float = math.nan
    rate: float = 0.0
    best_score: float = -math.inf
    best_epoch: int = -1
    history: list[dict[str, float]] = field(default_factory=list)


Callback = Callable[[str, TrainingProgress], bool | None]
"""Called with "step" or "epoch"; returning True stops the run. A stop after a step loses the epoch that has begun: a run that
keeps its state resumes at that epoch's start."""


def _copied(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


class Averages:
    """Exponential moving average of a model's parameters and running statistics; integer tensors are copied."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay, self.state = decay, _copied(model)

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        """Update the average; the decay is smaller during the first steps, so that the initial weights soon vanish from it."""
        decay = min(self.decay, (1 + step) / (10 + step))
        for name, value in model.state_dict().items():
            if value.is_floating_point():
                self.state[name].lerp_(value, 1 - decay)
            else:
                self.state[name].copy_(value)


def fit(
    model: nn.Module,
    task: Task,
    settings: LoopSettings,
    *,
    device: torch.device,
    callbacks: Iterable[Callback] = (),
    resume_from: Path | None = None,
    rates: Mapping[str, float] | None = None,
) -> TrainingProgress:
    """Train `model` in place and leave the best-scoring weights in it.

    Args:
        rates: share of the rate for parameters by the beginning of their names, 0 for those that stay as they are.
        resume_from: a path without suffix; the state is written to `<path>.safetensors` after every epoch, and training
            resumes from there where it exists.

    Returns:
        The progress, with one history row per epoch.
    """
    torch.manual_seed(settings.seed)
    callbacks, model = list(callbacks), model.to(device)
    run = _Run(model, task, settings, rates or {})
    if resume_from is not None and resume_from.with_suffix(".safetensors").exists():
        run.restore(resume_from)
    progress, stopped = run.progress, False
    while progress.epoch < settings.epochs and not stopped and progress.epoch - 1 - progress.best_epoch < settings.patience:
        model.train()
        began, losses, count = time.perf_counter(), 0.0, 0
        for batch in task.batches(progress.epoch):
            losses += run.step(tuple(part.to(device, non_blocking=True) for part in batch), device)
            count += 1
            if stopped := _call_all(callbacks, "step", progress):
                break
        if stopped:
            break
        run.end_epoch(losses / max(count, 1), time.perf_counter() - began)
        if resume_from is not None:
            run.store(resume_from)
        stopped = _call_all(callbacks, "epoch", progress)
    model.load_state_dict(run.best)
    model.eval()
    return progress


class _Run:
    """A model in training, and what is kept of it from epoch to epoch: optimiser, averages, best weights and progress."""

    def __init__(self, model: nn.Module, task: Task, settings: LoopSettings, rates: Mapping[str, float]) -> None:
        self.model, self.task, self.settings = model, task, settings
        self.optimizer = torch.optim.AdamW(_groups(model, rates), lr=settings.peak_rate, weight_decay=settings.weight_decay)
        self.averages = Averages(model, settings.ema) if settings.ema else None
        self.best, self.progress = _copied(model), TrainingProgress()
        self._total = settings.epochs * settings.steps_per_epoch

    def step(self, batch: Batch, device: torch.device) -> float:
        """One step of the optimiser; returns the loss."""
        s, progress = self.settings, self.progress
        progress.rate = warmup_cosine(progress.step, peak=s.peak_rate, warmup=s.warmup, total=self._total)
        for group in self.optimizer.param_groups:
            group["lr"] = progress.rate * group["share"]
        with in_bfloat16(device, wanted=s.bf16):
            loss = self.task.loss(self.model, batch)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), s.clip)
        self.optimizer.step()
        if self.averages is not None:
            self.averages.update(self.model, progress.step)
        progress.step, progress.loss = progress.step + 1, loss.item()
        return progress.loss

    def end_epoch(self, loss: float, seconds: float) -> None:
        """Validate the averaged weights, and keep them where they are the best so far."""
        progress, live = self.progress, _copied(self.model)
        if self.averages is not None:
            self.model.load_state_dict(self.averages.state)
        self.model.eval()
        with torch.no_grad():
            metrics = self.task.validate(self.model)
        row = {"epoch": progress.epoch, "step": progress.step, "loss": loss, "rate": progress.rate, "seconds": round(seconds, 2)}
        progress.history.append({**row, **metrics})
        if metrics["score"] > progress.best_score:
            progress.best_score, progress.best_epoch, self.best = metrics["score"], progress.epoch, _copied(self.model)
        self.model.load_state_dict(live)
        progress.epoch += 1

    def store(self, path: Path) -> None:
        parts: dict[str, Mapping[str, Any]] = {"model": self.model.state_dict(), "best": self.best}
        if self.averages is not None:
            parts["ema"] = self.averages.state
        parts |= {f"optimizer/{index}": state for index, state in self.optimizer.state_dict()["state"].items()}
        tensors = {f"{part}/{name}": value for part, state in parts.items() for name, value in state.items()}
        whole = {k: v.detach().cpu().contiguous().clone() for k, v in {**tensors, "rng": torch.get_rng_state()}.items()}
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path.with_suffix(".safetensors"), packed(whole, {PROGRESS: json.dumps(asdict(self.progress))}))

    def restore(self, path: Path) -> None:
        tensors, self.progress = _read(path)

        def under(prefix: str) -> dict[str, Tensor]:
            return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}

        self.model.load_state_dict(under("model/"))
        if self.averages is not None:
            self.averages.state = {k: v.to(self.averages.state[k].device) for k, v in under("ema/").items()}
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in under("optimizer/").items():
            index, key = name.split("/", 1)
            state.setdefault(int(index), {})[key] = value
        self.optimizer.load_state_dict({"state": state, "param_groups": self.optimizer.state_dict()["param_groups"]})
        torch.set_rng_state(tensors["rng"])
        self.best = {k: v.to(self.best[k].device) for k, v in under("best/").items()}


def _groups(model: nn.Module, rates: Mapping[str, float]) -> list[dict[str, Any]]:
    """The optimiser's groups of parameters, each with its share of the rate."""
    groups: dict[float, list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        share = next((share for beginning, share in rates.items() if name.startswith(beginning)), 1.0)
        if share > 0:
            groups.setdefault(share, []).append(parameter)
        else:
            parameter.requires_grad_(False)
    return [{"params": parameters, "share": share} for share, parameters in groups.items()]


def _call_all(callbacks: list[Callback], event: str, progress: TrainingProgress) -> bool:
    """Call every callback, also after one has asked to stop; returns whether any did."""
    answers = [callback(event, progress) for callback in callbacks]
    return any(answers)


def best_of(path: Path) -> tuple[dict[str, Tensor], TrainingProgress]:
    """The best weights of a run and its progress, from the state that it wrote (`fit`'s `resume_from`)."""
    tensors, progress = _read(path)
    weights = {name.removeprefix("best/"): value for name, value in tensors.items() if name.startswith("best/")}
    return weights, progress


def _read(path: Path) -> tuple[dict[str, Tensor], TrainingProgress]:
    """The tensors of a state and its progress, which are one file, so that neither is ever newer than the other."""
    with safe_open(path.with_suffix(".safetensors"), "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
        return tensors, TrainingProgress(**json.loads(file.metadata()[PROGRESS]))
