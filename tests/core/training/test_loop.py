"""The training loop against a loop written out by hand, and its promises: resuming, averaging, stopping."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from core import device
from core.schedules import warmup_cosine
from core.training.loop import Averages, Callback, LoopSettings, TrainingProgress, fit

CPU = torch.device("cpu")
SETTINGS = LoopSettings(epochs=4, steps_per_epoch=6, peak_rate=0.05, weight_decay=0.1, warmup=5, clip=0.3, seed=7)


def network() -> nn.Module:
    """With dropout and batch norm, so that random state and buffers matter."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8, bias=False), nn.BatchNorm1d(8), nn.GELU(), nn.Dropout(0.3), nn.Linear(8, 1))


class Regression:
    """A toy task; validation scores as told, or the negative loss."""

    def __init__(self, scores: list[float] | None = None) -> None:
        self.scores = scores
        self.validated: list[dict[str, Tensor]] = []

    def batches(self, epoch: int) -> Iterator[tuple[Tensor, ...]]:
        random = torch.Generator().manual_seed(epoch)
        for _ in range(6):
            x = torch.randn(16, 3, generator=random)
            yield x, x.sum(dim=1, keepdim=True).sin()

    def loss(self, model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
        x, y = batch
        return (model(x) - y).square().mean()

    def validate(self, model: nn.Module) -> dict[str, float]:
        assert not model.training
        assert not torch.is_grad_enabled()
        self.validated.append(copy(model))
        if self.scores is not None:
            return {"score": self.scores[len(self.validated) - 1]}
        return {"score": -float(self.loss(model, next(self.batches(99))))}


def losses_of(model: nn.Module, task: Any, *, epochs: int = 1, rate: float = 3e-3) -> list[float]:
    """The loss at each step of a plain training."""
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=rate), []
    for batch in (batch for epoch in range(epochs) for batch in task.batches(epoch)):
        loss = task.loss(model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def copy(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def equal(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def test_it_trains_as_a_loop_by_hand_does() -> None:
    task, rising = Regression(), [1.0, 2.0, 3.0, 4.0]  # each epoch better: the last is kept
    model = network()
    progress = fit(model, Regression(rising), SETTINGS, device=CPU)

    twin = network()
    torch.manual_seed(SETTINGS.seed)
    optimizer = torch.optim.AdamW(twin.parameters(), lr=1.0, weight_decay=0.1)
    step, losses = 0, []
    for epoch in range(4):
        twin.train()
        for batch in task.batches(epoch):
            for group in optimizer.param_groups:
                group["lr"] = warmup_cosine(step, peak=0.05, warmup=5, total=24)
            loss = task.loss(twin, batch)
            optimizer.zero_grad()
            loss.backward()
            norm = torch.sqrt(sum(p.grad.square().sum() for p in twin.parameters()))
            for p in twin.parameters():
                p.grad *= min(1.0, 0.3 / (norm + 1e-6))
            optimizer.step()
            step, losses = step + 1, [*losses, loss.item()]
    for name, value in twin.state_dict().items():
        torch.testing.assert_close(model.state_dict()[name], value, rtol=1e-4, atol=1e-5)
    assert not model.training
    assert (progress.step, progress.epoch, progress.best_epoch, progress.best_score) == (24, 4, 3, 4.0)
    means = [sum(losses[i : i + 6]) / 6 for i in (0, 6, 12, 18)]
    assert [row["loss"] for row in progress.history] == pytest.approx(means, rel=1e-4)
    assert [row["rate"] for row in progress.history] == [warmup_cosine(i, peak=0.05, warmup=5, total=24) for i in (5, 11, 17, 23)]


def stop_after(epochs: int) -> Callback:
    return lambda event, progress: event == "epoch" and progress.epoch == epochs


def without_times(progress: TrainingProgress) -> list[dict[str, float]]:
    return [{key: value for key, value in row.items() if key != "seconds"} for row in progress.history]


@pytest.mark.parametrize("ema", [0.0, 0.9])
@pytest.mark.parametrize("stops", [(1,), (2,), (1, 3)])
def test_a_resumed_run_ends_as_one_that_was_never_stopped(tmp_path: Path, ema: float, stops: tuple[int, ...]) -> None:
    settings = LoopSettings(**{**vars(SETTINGS), "ema": ema})
    whole = network()
    expected = fit(whole, Regression(), settings, device=CPU)
    for epochs in stops:
        torch.manual_seed(epochs)
        fit(nn_from_scratch(), Regression(), settings, device=CPU, callbacks=[stop_after(epochs)], resume_from=tmp_path / "run")
    model = nn_from_scratch()
    progress = fit(model, Regression(), settings, device=CPU, resume_from=tmp_path / "run")
    assert equal(copy(model), copy(whole))
    assert without_times(progress) == without_times(expected)
    assert (progress.step, progress.best_epoch, progress.best_score) == (expected.step, expected.best_epoch, expected.best_score)


def nn_from_scratch() -> nn.Module:
    """The same start as `network`: the first of the runs must begin there too."""
    model = network()
    torch.rand(17)  # another state of the generator
    return model


def test_averages_equal_a_hand_rolled_mean() -> None:
    """EMA weights are what is validated and kept; training itself goes on with the live ones."""
    settings = LoopSettings(**{**vars(SETTINGS), "ema": 0.8})
    model, live = network(), []
    start, task = copy(model), Regression([1.0, 2.0, 3.0, 4.0])
    fit(model, task, settings, device=CPU, callbacks=[lambda event, _: live.append(copy(model)) if event == "step" else None])

    mean = start
    for step, now in enumerate(live):
        decay = min(0.8, (1 + step) / (10 + step))
        mean = {
            name: decay * mean[name] + (1 - decay) * value if value.is_floating_point() else value for name, value in now.items()
        }
        if step % 6 == 5:
            for name, value in task.validated[step // 6].items():
                torch.testing.assert_close(value, mean[name])
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, mean[name])
    plain = network()
    fit(plain, Regression([1.0, 2.0, 3.0, 4.0]), SETTINGS, device=CPU)
    assert equal(live[-1], copy(plain))


def test_averages_forget_the_start_soon() -> None:
    model = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        model.weight.fill_(1.0)
        averages = Averages(model, 0.999)
        model.weight.fill_(0.0)
    for step in range(100):
        averages.update(model, step)
    assert averages.state["weight"].item() < 1e-6  # 0.999^100 would still be 0.9


@pytest.mark.parametrize("scores", [[1.0, 5.0, 2.0, 3.0], [1.0, 5.0, 5.0, 5.0]], ids=["once", "a tie"])
def test_the_first_best_epoch_is_kept(scores: list[float]) -> None:
    model, task = network(), Regression(scores)
    progress = fit(model, task, SETTINGS, device=CPU)
    assert (progress.best_epoch, progress.best_score, progress.epoch) == (1, 5.0, 4)
    assert equal(copy(model), task.validated[1])


def test_patience_stops_early_and_resuming_does_not_start_again(tmp_path: Path) -> None:
    settings = LoopSettings(**{**vars(SETTINGS), "epochs": 9, "patience": 2})
    task = Regression([1.0, 5.0, 2.0, 3.0, 9.0])
    progress = fit(network(), task, settings, device=CPU, resume_from=tmp_path / "run")
    assert (progress.epoch, progress.best_epoch) == (4, 1)
    resumed = network()
    again = fit(resumed, Regression([]), settings, device=CPU, resume_from=tmp_path / "run")  # nothing is left to do
    assert without_times(again) == without_times(progress) and equal(copy(resumed), task.validated[1])


def test_a_callback_may_stop_within_an_epoch(tmp_path: Path) -> None:
    """What the epoch had learned so far is dropped; the state kept is that of the last whole one."""
    seen: list[tuple[str, int, int]] = []

    def callback(event: str, progress: TrainingProgress) -> bool:
        seen.append((event, progress.epoch, progress.step))
        return event == "step" and progress.step == 8

    model, task = network(), Regression()
    progress = fit(model, task, SETTINGS, device=CPU, callbacks=[callback], resume_from=tmp_path / "run")
    assert seen == [*(("step", 0, step) for step in range(1, 7)), ("epoch", 1, 6), ("step", 1, 7), ("step", 1, 8)]
    assert progress.epoch == 1
    assert equal(copy(model), task.validated[0])
    expected, resumed = network(), network()
    fit(expected, Regression(), SETTINGS, device=CPU)
    fit(resumed, Regression(), SETTINGS, device=CPU, resume_from=tmp_path / "run")
    assert equal(copy(resumed), copy(expected))


def test_every_callback_is_told_even_when_one_stops() -> None:
    told: list[str] = []
    fit(network(), Regression(), SETTINGS, device=CPU, callbacks=[lambda *_: True, lambda event, _: told.append(event)])
    assert told == ["step"]


def test_bfloat16_keeps_the_weights_in_full_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "computes_bfloat16", lambda device: True)  # slowly, where the hardware does not
    settings = LoopSettings(**{**vars(SETTINGS), "bf16": True, "epochs": 1})
    model = network()
    progress = fit(model, Regression(), settings, device=CPU)
    assert {value.dtype for value in model.state_dict().values() if value.is_floating_point()} == {torch.float32}
    plain = network()
    exact = fit(plain, Regression(), LoopSettings(**{**vars(SETTINGS), "epochs": 1}), device=CPU)
    assert progress.history[0]["loss"] == pytest.approx(exact.history[0]["loss"], rel=0.05)
    assert not equal(copy(model), copy(plain))  # it did compute otherwise


@pytest.mark.parametrize("field", ["epochs", "steps_per_epoch", "patience"])
def test_settings_that_train_nothing_are_refused(field: str) -> None:
    with pytest.raises(ValueError, match="train nothing: each must be 1 or more"):
        LoopSettings(**{**vars(SETTINGS), field: 0})
