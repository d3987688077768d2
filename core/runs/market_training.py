"""Training a TLOB on recordings while the app runs, by `python -m core train tlob` (`core.runs.local_run`).

Its state is kept, so that a run that was stopped, or ended with the app, is resumed where its last epoch ended.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from core import checkpoints
from core.market.features import TransformKind, directed_inputs, input_names
from core.market.labels import LABEL_KINDS, Head, LabelKind, momentum_calls
from core.market.store.rows import read_market
from core.messages import compose
from core.models.tlob import TLOB, TLOBConfig
from core.runs.local_run import ATTACHED, PROGRESS, ROOT, LocalRun, TrainError
from core.training.tlob import MarketData, MarketFiles, TLOBTask, TLOBTraining, prepare_market, score_head, score_name

FOLDER_VARIABLE: Final = "OBSERVATORY_RUNS"
"""Environment variable: where runs keep their state."""
PLAN: Final = "plan.json"
BATCH: Final = 64
TIMED_STEPS: Final = 2


@dataclass(frozen=True, kw_only=True)
class MarketPlan:
    """The settings of a run.

    Attributes:
        name: of the checkpoint. files: paths by market. start: name of the checkpoint to start from; "" for none.
        horizons: steps; both labels are learned at each. transform, pairs: of a model that starts from nothing (D9).
        epochs, windows: number, and windows of each. rate: AdamW's peak. folder: of the checkpoints.
    """

    name: str
    files: tuple[tuple[str, ...], ...]
    start: str = "tlob"
    horizons: tuple[int, ...] = (10, 20, 50, 100)
    transform: TransformKind = "flow"
    pairs: int = 2
    epochs: int = 4
    windows: int = 4_096
    rate: float = 3e-4
    seed: int = 0
    folder: str = field(default_factory=lambda: str(checkpoints.FOLDER))

    def check(self) -> None:
        """Compare the name with those in use, and see that there are files.

        Raises:
            TrainError: where it cannot be used, or no recording is chosen.
        """
        if not self.files:
            raise TrainError(compose("choose a recording to train on"))
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,39}", self.name):
            raise TrainError(
                "{name!r} cannot be a checkpoint's name: use up to 40 lower-case letters, digits and hyphens", name=self.name
            )
        if (Path(self.folder) / f"{self.name}.json").exists():
            raise TrainError("there is a checkpoint named {name!r} already: choose another name", name=self.name)
        if not os.access(self.folder, os.W_OK):
            raise TrainError(compose("this app's folder of models is read-only: nothing trained here could be kept"))

    @property
    def card(self) -> dict[str, Any] | None:
        """The card of the checkpoint to start from."""
        return checkpoints.read_card(self.start, folder=Path(self.folder)) if self.start else None

    @property
    def heads(self) -> list[Head]:
        """Labels and horizons, those of the start where there is one."""
        if (card := self.card) is not None:
            return [(kind, int(horizon)) for kind, horizon in card["heads"]]
        return [(kind, horizon) for kind in LABEL_KINDS for horizon in self.horizons]

    @property
    def inputs(self) -> TransformKind:
        """The input transform, that of the start where there is one."""
        card = self.card
        return self.transform if card is None else card["transform"]

    def config(self) -> TLOBConfig:
        """The network, that of the start where there is one."""
        if (card := self.card) is not None:
            return TLOBConfig(**card["config"])
        columns, directed = len(input_names(self.transform)), directed_inputs(self.transform)
        return TLOBConfig(
            features=columns,
            directed=directed,
            qkv="single",
            pairs=self.pairs,
            pooling="last",
            outputs=len(self.heads),
            mirrored=True,
        )

    def arguments(self, work: Path) -> list[str]:
        """The command's arguments; the checkpoint goes among the others, everything else into `work`."""
        work.mkdir(parents=True, exist_ok=True)
        (work / PLAN).write_text(json.dumps(asdict(self)), encoding="utf-8")
        config, heads = self.config(), self.heads
        steps = max(1, self.windows // BATCH)
        words = ["train", "tlob"]
        for group in self.files:
            words += ["--data", *group]
        if self.start:
            words += ["--start", str(Path(self.folder) / f"{self.start}.json")]
        named: dict[str, Any] = {
            "transform": self.inputs,
            "qkv": config.qkv,
            "pairs": config.pairs,
            "positions": config.positions,
            "pooling": config.pooling,
            "dropout": config.dropout,
            "epochs": self.epochs,
            "windows": self.windows,
            "batch": BATCH,
            "rate": self.rate,
            "warmup": max(1, self.epochs * steps // 10),
            "ema": 0.9 if self.epochs * steps < 500 else 0.99,
            "patience": max(3, self.epochs // 3),
            "seed": self.seed,
            "test-every": 2,
            "name": self.name,
            "folder": self.folder,
            "state": work / "state",
            "progress": work / PROGRESS,
        }
        words += [word for key, value in named.items() for word in (f"--{key}", str(value))]
        words += ["--label", *dict.fromkeys(kind for kind, _ in heads)]
        words += ["--horizon", *dict.fromkeys(str(horizon) for _, horizon in heads), "--no-bf16"]
        return [*words, "--mirrored"] if config.mirrored else words


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """Data of a planned run, and its expected time.

    Attributes:
        train, validation, test: windows. outcomes: of training, that do not overlap at the longest horizon.
        seconds: for all epochs on this machine.
        naive: the momentum rule's validation scores by "market/label", the mean over horizons, as a run's history has them.
    """

    train: int
    validation: int
    test: int
    outcomes: int
    seconds: float
    naive: dict[str, float]


def outlook(plan: MarketPlan) -> Outlook:
    """Count the windows and time a few steps on this machine.

    Raises:
        TrainError: where the recordings cannot be read or are too short to be split.
    """
    heads, config = plan.heads, plan.config()
    try:
        files = [MarketFiles(paths=tuple(map(Path, group))) for group in plan.files]
        markets = [prepare_market(one.name, read_market(list(one.paths)), heads, config.steps) for one in files]
    except (ValueError, OSError) as error:
        raise TrainError(str(error)) from error
    counts = {part: sum(len(market.ends[part]) for market in markets) for part in ("train", "validation", "test")}
    longest = max(horizon for _, horizon in heads)
    step_s, window_s = _timed(plan, config, markets)
    scored = counts["validation"] / 5 * plan.epochs + counts["validation"] / 2 + counts["test"]
    return Outlook(
        **counts,
        outcomes=counts["train"] // longest,
        seconds=plan.epochs * (plan.windows // BATCH) * step_s + scored * window_s,
        naive={f"{market.name}/{kind}": _momentum_score(market, kind) for market in markets for kind in dict(heads)},
    )


def _momentum_score(market: MarketData, kind: LabelKind) -> float:
    """Mean over one label's horizons of the momentum rule's score on the validation part (D8)."""
    ends = market.ends["validation"]
    scores = [
        score_head(market.labels[ends, i], momentum_calls(market.rows, head[1], market.alphas[i])[ends])[score_name(kind)]
        for i, head in enumerate(market.heads)
        if head[0] == kind
    ]
    return float(np.mean(scores))


def _timed(plan: MarketPlan, config: TLOBConfig, markets: Sequence[MarketData]) -> tuple[float, float]:
    """Seconds of a training step, and of predicting one window; the run has one thread, as the caller should."""
    task = TLOBTask(markets, TLOBTraining(transform=plan.inputs, batch=BATCH, windows_per_epoch=TIMED_STEPS * BATCH))
    model = TLOB(config).train()
    optimiser = torch.optim.AdamW(model.parameters())
    times, batches = [], task.batches(0)
    for _ in range(TIMED_STEPS):
        began = time.perf_counter()
        with torch.enable_grad():
            batch = next(batches)
            loss = task.loss(model, batch)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
        optimiser.step()
        times.append(time.perf_counter() - began)
    step_s = float(np.min(times))
    return step_s, step_s / 3 / BATCH  # a backward pass costs twice a forward pass


class MarketTrainer(LocalRun[MarketPlan]):
    """Starts, watches, stops and resumes one run at a time."""

    def __init__(self, *, command: tuple[str, ...] = ATTACHED, folder: Path | None = None) -> None:
        super().__init__(command=command, folder=folder or runs_folder() / "market")

    @property
    def plan(self) -> MarketPlan | None:
        """The plan of the run, also of one that an earlier app began; None where there is none."""
        work = self.work
        try:
            values = json.loads((work / PLAN).read_text(encoding="utf-8")) if work is not None else None
            if values is None:
                return None
            values["files"] = tuple(map(tuple, values["files"]))
            return MarketPlan(**values | {"horizons": tuple(values["horizons"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def resume(self) -> None:
        """Continue a run that was stopped or ended with its app.

        Raises:
            TrainError: where there is none, or one is under way.
        """
        plan = self.plan
        if plan is None:
            raise TrainError(compose("there is no stopped run to resume"))
        self.start(plan, resume=True)

    def card(self) -> dict[str, Any] | None:
        """The card of the run's checkpoint; None before there is one."""
        plan, state = self.plan, self.status()
        if plan is None or state.running or not (Path(plan.folder) / f"{plan.name}.json").exists():
            return None
        return checkpoints.read_card(plan.name, folder=Path(plan.folder))


def runs_folder() -> Path:
    """Folder in which runs keep their state, by the environment."""
    return Path(os.environ.get(FOLDER_VARIABLE, "").strip() or ROOT / "runs")


FILE: Final = Path(__file__).resolve().parents[2] / "assets" / "forecasters" / "data_amount.json"


@cache
def read_curve(file: Path = FILE) -> dict[str, Any] | None:
    """The curve; None where none was measured.

    Returns:
        `market`, `command`, and `rows`: one per amount, with `minutes`, `outcomes` and the log-losses `trained`, `nothing`
        (trained from nothing), `start` and `frequencies`, means over labels and horizons.
    """
    if not file.exists():
        return None
    curve: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return curve


def enough_outcomes(curve: dict[str, Any] | None, *, from_start: bool) -> int | None:
    """Outcomes of training that do not overlap, from which on every amount measured made training worth it.

    Worth it is a lower log-loss than the classes' frequencies, and than the starting checkpoint where there is one.

    Returns:
        None where no curve was measured, or none of its amounts was enough.
    """
    enough = None
    for row in sorted(curve["rows"] if curve is not None else [], key=lambda row: -row["minutes"]):
        mine = row["trained" if from_start else "nothing"]
        if mine >= row["frequencies"] or (from_start and mine >= row["start"]):
            break
        enough = int(row["outcomes"])
    return enough
