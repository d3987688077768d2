"""`python -m core train dates`."""

from __future__ import annotations

import argparse
from typing import Any

from core.cli import options


def add_parser(models: Any) -> None:
    """Add the model to `train`'s."""
    p = models.add_parser(
        "dates",
        help="the encoder-decoder Transformer on written dates (its data is generated)",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    options.add_checkpoint_output(p, name="dates")
    p.add_argument("--width", type=int, default=96)
    p.add_argument("--heads", type=int, default=4)
    p.add_argument("--layers", type=int, default=2, help="encoder layers, and as many decoder layers")
    p.add_argument("--hidden", type=int, default=192, help="middle width of the feed-forward networks")
    p.add_argument("--dropout", type=float, default=0.0)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--steps", type=int, default=250, help="steps an epoch")
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--smoothing", type=float, default=0.0, help="label smoothing")
    options.add_optimiser(p, rate=1.5e-3, weight_decay=0.01, ema=0.995, warmup=400)
    options.add_run(p)
    options.add_test(p)
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    from core.lecture.dates import SYMBOLS
    from core.models.transformer import TransformerConfig
    from core.training.dates import DatesTraining, run
    from core.training.loop import progress_bar

    config = TransformerConfig(
        vocabulary=len(SYMBOLS), width=o.width, heads=o.heads, layers=o.layers, hidden=o.hidden, dropout=o.dropout
    )
    training = DatesTraining(batch=o.batch, steps_per_epoch=o.steps, smoothing=o.smoothing, seed=o.seed)
    loop = options.loop_settings(o, steps=o.steps)
    path = run(
        o.name,
        config,
        training,
        loop,
        folder=o.folder,
        state=o.state,
        test=o.test,
        callbacks=[progress_bar(loop, title=o.name)],
    )
    print(f"wrote {path} and its weights")
