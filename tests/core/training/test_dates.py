"""Training on written dates: what a batch holds, that it learns, and what its card says."""

from pathlib import Path

import pytest
import torch

from core import checkpoints
from core.lecture import dates
from core.lecture.date_reader import DateReader
from core.lecture.dates import BEGIN, END, PAD, SYMBOLS
from core.models.transformer import Transformer, TransformerConfig
from core.training.dates import DatesTask, DatesTraining, exact, tensors, train
from core.training.loop import LoopSettings
from core.training.recipe import TrainingRun
from tests.core.training.test_loop import losses_of

Maps = dict[str, torch.Tensor]
CONFIG = TransformerConfig(vocabulary=len(SYMBOLS), width=16, heads=2, layers=1, hidden=16)
TINY = DatesTraining(batch=16, steps_per_epoch=6, validation=20, test=30, seed=3)


def test_a_batch_is_text_and_what_follows_each_symbol() -> None:
    source, target, wanted = next(iter(DatesTask(TINY).batches(0)))
    assert target.shape == wanted.shape == (16, 11) and source.shape[0] == 16
    assert (target[:, 0] == BEGIN).all() and (wanted[:, -1] == END).all()
    assert target[:, 1:].equal(wanted[:, :-1])
    text = dates.decode_text([symbol for symbol in source[0].tolist() if symbol != PAD])
    assert text and dates.is_calendar_date(dates.decode_text(wanted[0].tolist()))


def test_an_epoch_is_the_same_each_time_and_another_is_another() -> None:
    task = DatesTask(TINY)
    first, again, second = (list(task.batches(epoch)) for epoch in (0, 0, 1))
    assert len(first) == 6
    assert all(a[0].equal(b[0]) for a, b in zip(first, again, strict=True))
    assert not all(a[1].equal(b[1]) for a, b in zip(first, second, strict=True))


def test_exact_match_counts_whole_answers() -> None:
    pairs = dates.sample_pairs("validation", 6, seed=0)

    class Oracle(Transformer):
        """Knows the answers by their source."""

        def encode(self, source: torch.Tensor, *, return_attention: bool = False) -> tuple[torch.Tensor, Maps]:
            return torch.arange(len(source))[:, None, None].float(), {}

        def decode(self, target: torch.Tensor, memory: torch.Tensor, **_rest: object) -> tuple[torch.Tensor, Maps]:
            answers = tensors(pairs)[2]
            answers[0, 3] = answers[0, 3] % 10 + 11  # one wrong digit
            wanted = answers[memory[:, 0, 0].long(), target.shape[1] - 1]
            return torch.nn.functional.one_hot(wanted, len(SYMBOLS))[:, None].float() * 50, {}

    right = exact(Oracle(CONFIG), pairs)
    assert right == [False, True, True, True, True, True]


def test_a_run_writes_a_checkpoint_with_its_card(tmp_path: Path) -> None:
    loop = LoopSettings(epochs=2, steps_per_epoch=6, peak_rate=1e-3, warmup=2, seed=3)
    path = train(TrainingRun(name="dates", folder=tmp_path), CONFIG, TINY, loop)
    card = checkpoints.read_card("dates", folder=tmp_path)
    assert path.exists() and card["model"] == "transformer" and len(card["history"]) == 2
    assert card["metrics"]["test"]["samples"] == 30 and set(card["metrics"]["test"]["baselines"])
    assert set(card["split"]["formats"]) == {"validation", "test"}
    assert card["metrics"]["validation"]["score"] == max(row["score"] for row in card["history"])
    reader = DateReader(folder=tmp_path)
    assert reader.model.config == CONFIG
    kept = train(TrainingRun(name="untested", folder=tmp_path, test=False), CONFIG, TINY, loop)
    assert kept.exists() and "test" not in checkpoints.read_card("untested", folder=tmp_path)["metrics"]


def test_it_learns() -> None:
    task = DatesTask(DatesTraining(batch=32, steps_per_epoch=30, validation=10, seed=0))
    torch.manual_seed(0)
    model = Transformer(CONFIG)
    losses = losses_of(model, task)
    assert losses[-1] < 0.75 * losses[0]
    with pytest.raises(ValueError, match="at most"):
        model(torch.ones(1, 65, dtype=torch.long), torch.ones(1, 1, dtype=torch.long))
