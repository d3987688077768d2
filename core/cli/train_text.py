"""`python -m core train text`."""

from __future__ import annotations

import argparse
from typing import Any

from core.cli import options


def add_parser(models: Any) -> None:
    """Add the model to `train`'s."""
    p = models.add_parser(
        "text",
        help="the lecture's decoder-only model of characters, on the app's own prose",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    options.add_checkpoint_output(p, name="text")
    p.add_argument("--width", type=int, default=96)
    p.add_argument("--heads", type=int, default=4)
    p.add_argument("--layers", type=int, default=3)
    p.add_argument("--hidden", type=int, default=384, help="middle width of the feed-forward networks")
    p.add_argument("--length", type=int, default=128, help="longest sequence, in characters")
    p.add_argument("--dropout", type=float, default=0.1)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--steps", type=int, default=100, help="steps an epoch")
    p.add_argument("--batch", type=int, default=16)
    options.add_optimiser(p, rate=3e-3, weight_decay=0.05, ema=0.99, warmup=100)
    options.add_run(p)
    options.add_test(p)
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    from core.training.loop import progress_bar
    from core.training.text import TextTraining, run

    shape = {name: getattr(o, name) for name in ("width", "heads", "layers", "hidden", "length", "dropout")}
    loop = options.loop_settings(o, steps=o.steps)
    path = run(
        o.name,
        shape,
        TextTraining(batch=o.batch, steps_per_epoch=o.steps, seed=o.seed),
        loop,
        folder=o.folder,
        state=o.state,
        test=o.test,
        callbacks=[progress_bar(loop, title=o.name)],
    )
    print(f"wrote {path} and its weights")
