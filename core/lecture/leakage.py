"""Scores inflated by mistakes in their measurement: a small network on a recorded order book, with each and without.

The honest way: labels of the future alone (the forward label, D8), parts in the order of time with a gap between (D10), means
and deviations and the label's threshold from the training part, epoch and call rule (D25) chosen on the validation part, and the
same choice for the peer that the network is compared with. Each mistake changes one of these.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from core import scores
from core.market.book import BookRows, FloatArray
from core.market.calibration import CallRule
from core.market.grid import segments
from core.market.labels import STATIONARY, classify, fit_alpha, momentum_calls, moves_after
from core.market.store.index import FOLDER
from core.messages import BadValue

Mistake = Literal["label", "shuffle", "scaling", "threshold", "epoch", "peers"]
MISTAKES: Final[tuple[Mistake, ...]] = ("label", "shuffle", "scaling", "threshold", "epoch", "peers")
TRAINED: Final[frozenset[Mistake]] = frozenset({"label", "shuffle", "scaling", "threshold"})
"""Mistakes that change what the network learns from; the others change only how its answers are read."""
TRAIN_END, VALIDATION_END = 0.6, 0.8
"""Shares of the rows: training to 60 %, validation to 80 %, test the last 20 %."""
LOOK_BACK: Final = (1, 2, 5, 10, 20, 50)
"""Rows back that the inputs' moves of the mid reach."""
HIDDEN: Final = 64
EPOCHS: Final = 15
BATCH: Final = 256
RATE: Final = 2e-3
SEEDS: Final = 3
LEANS: Final = np.linspace(-1.0, 3.0, 41)
"""Leans that a call rule is chosen from (D25)."""
FEWEST: Final = 1_000
"""Rows that the lab needs."""
RECORDING: Final = FOLDER / "binance_spot_nexousdt_2024-07-24.parquet"
"""The bundled recording that the lab measures."""
FINISHED: Final = Path(__file__).resolve().parents[2] / "assets" / "experiments" / "leakage.json"


@dataclass(frozen=True, kw_only=True)
class LabData:
    """Inputs and labels by part, and what was fitted on the way.

    Attributes:
        inputs: part ("train", "validation", "test") -> (n, features), standardised. labels: part -> (n,) 0..2.
        rows: part -> (n,) numbers of the rows. naive: (n,) the momentum rule's calls on the test part.
        alpha: the label's threshold. mean, std: (features,) that inputs were standardised with.
    """

    inputs: dict[str, NDArray[np.float32]]
    labels: dict[str, NDArray[np.int64]]
    rows: dict[str, NDArray[np.int64]]
    naive: NDArray[np.int64]
    alpha: float
    mean: FloatArray
    std: FloatArray


@dataclass(frozen=True, kw_only=True)
class LabAnswers:
    """A model's probabilities after every epoch: (epochs, seeds, n, 3) on the validation part and on the test part."""

    validation: NDArray[np.float32]
    test: NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class TrainedLab:
    """The data, and the answers of the network and of the peer, which is linear."""

    data: LabData
    network: LabAnswers
    peer: LabAnswers


@dataclass(frozen=True, kw_only=True)
class LabScore:
    """Scores on the test part.

    Attributes:
        network, peer: (seeds,) Matthews correlation. network_f1: (seeds,) macro-F1. momentum, momentum_f1: of the naive rule.
        epochs: (seeds,) chosen, counted from 1. rows: in the test part.
        called, peer_called: (seeds, 3, 3) confusion matrices of both, the true class down.
    """

    network: FloatArray
    network_f1: FloatArray
    peer: FloatArray
    momentum: float
    momentum_f1: float
    epochs: NDArray[np.int64]
    rows: int
    called: NDArray[np.int64]
    peer_called: NDArray[np.int64]

    @property
    def lead(self) -> FloatArray:
        """(seeds,) the network's Matthews correlation less the peer's."""
        return self.network - self.peer


@dataclass(frozen=True, kw_only=True)
class FinishedLab:
    """A run that was made beforehand, with each mistake by itself.

    Attributes:
        alpha: the honest label's threshold. learnt_from: rows of the honest training part. score: mistakes -> scores.
    """

    horizon: int
    alpha: float
    learnt_from: int
    score: dict[tuple[Mistake, ...], LabScore]

    def to_json(self) -> str:
        """The file's text."""
        told = {
            " ".join(made): {name: np.asarray(value).tolist() for name, value in vars(score).items()}
            for made, score in self.score.items()
        }
        return json.dumps({"horizon": self.horizon, "alpha": self.alpha, "learnt_from": self.learnt_from, "score": told}) + "\n"

    @classmethod
    def read(cls, path: Path = FINISHED) -> FinishedLab:
        """The bundled run, which `python -m scripts.leakage_example` makes."""
        told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        score: dict[tuple[Mistake, ...], LabScore] = {}
        for made, of in told.pop("score").items():
            values: dict[str, Any] = {name: np.array(value) if isinstance(value, list) else value for name, value in of.items()}
            score[cast("tuple[Mistake, ...]", tuple(made.split()))] = LabScore(**values)
        return cls(**told, score=score)


def trained_with(mistakes: Iterable[Mistake]) -> tuple[Mistake, ...]:
    """The mistakes that change training, in their order."""
    made = set(mistakes)
    return tuple(mistake for mistake in MISTAKES if mistake in made and mistake in TRAINED)


def book_inputs(rows: BookRows) -> FloatArray:
    """Inputs (n, 46), of which no row reads a later one.

    Prices as distances from the mid and moves of the mid over `LOOK_BACK` rows, basis points; logarithms of sizes.
    """
    mid = rows.mid
    levels = rows.levels.copy()
    levels[:, 0::2] = (levels[:, 0::2] / mid[:, None] - 1) * 1e4
    levels[:, 1::2] = np.log(levels[:, 1::2])
    moves = np.zeros((len(mid), len(LOOK_BACK)))
    for column, back in enumerate(LOOK_BACK):
        moves[back:, column] = (mid[back:] / mid[:-back] - 1) * 1e4
    return np.concatenate([levels, moves], axis=1)


def split(usable: NDArray[np.int64], gap: int, *, shuffled: bool) -> dict[str, NDArray[np.int64]]:
    """Rows of the three parts.

    In the order of time, `gap` rows are left out before and after validation, so that no label and no window reaches into
    another part; shuffled, each part is drawn from the whole recording.
    """
    n = len(usable)
    cuts = (int(n * TRAIN_END), int(n * VALIDATION_END))
    if shuffled:
        mixed = np.random.default_rng(0).permutation(usable)
        return {"train": mixed[: cuts[0]], "validation": mixed[cuts[0] : cuts[1]], "test": np.sort(mixed[cuts[1] :])}
    train, rest = usable[: cuts[0]], usable[cuts[0] :]
    validation, test = rest[: cuts[1] - cuts[0]], rest[cuts[1] - cuts[0] :]
    return {
        "train": train,
        "validation": validation[validation > train[-1] + gap],
        "test": test[test > validation[-1] + gap],
    }


def prepare(rows: BookRows, horizon: int, mistakes: Iterable[Mistake] = ()) -> LabData:
    """Inputs and labels of a recording, with these mistakes of `TRAINED`.

    Raises:
        ValueError: where the recording is too short.
    """
    made = set(mistakes)
    kind: Literal["smoothed", "forward"] = "smoothed" if "label" in made else "forward"
    moves, usable = moves_after(rows, (kind, horizon)), np.zeros(len(rows), dtype=bool)
    for stretch in segments(rows.timestamps):
        usable[stretch.start + LOOK_BACK[-1] : stretch.stop] = True
    ends = np.flatnonzero(usable & ~np.isnan(moves))
    if len(ends) < FEWEST:
        raise BadValue("the recording has {rows} rows to learn from: the lab needs {fewest}", rows=len(ends), fewest=FEWEST)
    parts = split(ends, LOOK_BACK[-1] + horizon, shuffled="shuffle" in made)
    alpha = fit_alpha([moves[parts["test" if "threshold" in made else "train"]]])
    x = book_inputs(rows)
    fitted = x[ends] if "scaling" in made else x[parts["train"]]
    mean, std = fitted.mean(axis=0), np.maximum(fitted.std(axis=0), 1e-9)
    labels = classify(moves, alpha)
    return LabData(
        inputs={part: ((x[at] - mean) / std).astype(np.float32) for part, at in parts.items()},
        labels={part: labels[at] for part, at in parts.items()},
        rows=parts,
        naive=momentum_calls(rows, horizon, alpha)[parts["test"]],
        alpha=alpha,
        mean=mean,
        std=std,
    )


def train(data: LabData, *, hidden: int, epochs: int = EPOCHS, progress: Callable[[int, int], None] | None = None) -> LabAnswers:
    """Train networks of two hidden layers, or linear ones where `hidden` is 0, from `SEEDS` seeds at once, by Adam.

    Args:
        progress: called with (epochs done, epochs in all); what it raises ends the work.
    """
    generator = torch.Generator().manual_seed(0)
    x, y = torch.from_numpy(data.inputs["train"]), torch.from_numpy(data.labels["train"])
    sizes = [x.shape[1], *([hidden, hidden] if hidden else []), 3]
    layers = [
        (torch.randn(SEEDS, a, b, generator=generator) * (2 / a) ** 0.5 * (0.1 if b == 3 else 1), torch.zeros(SEEDS, 1, b))
        for a, b in pairwise(sizes)
    ]
    weights = [tensor.requires_grad_() for layer in layers for tensor in layer]
    optimiser = torch.optim.Adam(weights, lr=RATE)
    held = {part: torch.from_numpy(data.inputs[part]) for part in ("validation", "test")}
    answers: dict[str, list[NDArray[np.float32]]] = {part: [] for part in held}
    for epoch in range(epochs):
        order = torch.randperm(len(x), generator=generator)
        for start in range(0, len(order) - BATCH + 1, BATCH):
            batch = order[start : start + BATCH]
            logits = _logits(x[batch], layers)
            loss = F.cross_entropy(logits.reshape(-1, 3), y[batch].repeat(SEEDS)) * SEEDS
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        with torch.no_grad():
            for part, inputs in held.items():
                answers[part].append(F.softmax(_logits(inputs, layers), dim=-1).numpy())
        if progress is not None:
            progress(epoch + 1, epochs)
    return LabAnswers(validation=np.stack(answers["validation"]), test=np.stack(answers["test"]))


def _logits(x: Tensor, layers: list[tuple[Tensor, Tensor]]) -> Tensor:
    """(n, features) -> (seeds, n, 3)."""
    values = x.expand(SEEDS, *x.shape)
    for index, (weight, bias) in enumerate(layers):
        values = torch.baddbmm(bias, values, weight)
        if index < len(layers) - 1:
            values = torch.relu(values)
    return values


def run(
    rows: BookRows,
    horizon: int,
    mistakes: Iterable[Mistake] = (),
    *,
    epochs: int = EPOCHS,
    progress: Callable[[int, int], None] | None = None,
) -> TrainedLab:
    """Prepare the data and train the network and its linear peer, with these mistakes of `TRAINED`.

    Args:
        progress: called with (epochs done, epochs in all) of both; what it raises ends the work.

    Raises:
        ValueError: where the recording is too short.
    """
    data = prepare(rows, horizon, mistakes)

    def moved(before: int) -> Callable[[int, int], None] | None:
        return None if progress is None else lambda done, total: progress(before + done, 2 * total)

    return TrainedLab(
        data=data,
        network=train(data, hidden=HIDDEN, epochs=epochs, progress=moved(0)),
        peer=train(data, hidden=0, epochs=epochs, progress=moved(epochs)),
    )


def measure(lab: TrainedLab, mistakes: Iterable[Mistake] = ()) -> LabScore:
    """Choose epochs and call thresholds, and score the test part, with these mistakes."""
    made = set(mistakes)
    network = [
        choose(lab.network, lab.data, seed, epoch_by_test="epoch" in made, lean_by_test="threshold" in made)
        for seed in range(SEEDS)
    ]
    peer = [choose(lab.peer, lab.data, seed, leaning="peers" not in made) for seed in range(SEEDS)]
    truth = lab.data.labels["test"]
    matrices, peers = (np.stack([scores.confusion_matrix(truth, called) for _, called in answers]) for answers in (network, peer))
    naive = scores.confusion_matrix(truth, lab.data.naive)
    return LabScore(
        network=scores.matthews(matrices),
        network_f1=scores.macro_f1(matrices),
        peer=scores.matthews(peers),
        momentum=float(scores.matthews(naive)),
        momentum_f1=float(scores.macro_f1(naive)),
        epochs=np.array([epoch for epoch, _ in network]) + 1,
        rows=len(truth),
        called=matrices,
        peer_called=peers,
    )


def choose(
    answers: LabAnswers,
    data: LabData,
    seed: int,
    *,
    epoch_by_test: bool = False,
    lean_by_test: bool = False,
    leaning: bool = True,
) -> tuple[int, NDArray[np.int64]]:
    """One seed's epoch, counted from 0, and its calls on the test part.

    Each epoch's lean (D25) is the one with the best Matthews correlation on the validation part, and the epoch is the one whose
    score there is best.

    Args:
        epoch_by_test, lean_by_test: choose by the test part instead. leaning: False calls the likeliest class.
    """
    leans = LEANS if leaning else np.zeros(1)
    validation = lean_scores(answers.validation[:, seed], data.labels["validation"], leans)
    test = lean_scores(answers.test[:, seed], data.labels["test"], leans)
    lean = (test if lean_by_test else validation).argmax(axis=1)  # (epochs,)
    epochs = np.arange(len(lean))
    epoch = int((test if epoch_by_test else validation)[epochs, lean].argmax())
    return epoch, CallRule(lean=float(leans[lean[epoch]])).call(answers.test[epoch, seed])


def lean_scores(p: NDArray[np.floating], truth: NDArray[np.int64], leans: FloatArray) -> FloatArray:
    """Matthews correlation (epochs, leans) of calls of the probabilities p (epochs, n, 3)."""
    log_p = np.log(np.maximum(p.astype(np.float64), 1e-12))
    moving = np.where(log_p[..., 2] > log_p[..., 0], 2, 0)
    margin = log_p[..., [0, 2]].max(axis=-1) - log_p[..., STATIONARY]
    matrices = [
        [scores.confusion_matrix(truth, np.where(row + lean > 0, way, STATIONARY)) for lean in leans]
        for row, way in zip(margin, moving, strict=True)
    ]
    return scores.matthews(np.array(matrices))
