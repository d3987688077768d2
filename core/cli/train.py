"""`python -m core train MODEL`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from core import checkpoints
from core.cli import train_cct, train_dates, train_iiga, train_iiga_hands, train_text, train_tlob, train_vit


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its models."""
    parser = commands.add_parser("train", help="train a model and write its checkpoint")
    models = parser.add_subparsers(dest="model", required=True, metavar="MODEL")
    train_tlob.add_parser(models)
    train_tlob.add_deeplob_parser(models)
    train_vit.add_parser(models)
    train_cct.add_parser(models)
    train_iiga.add_parser(models)
    train_iiga_hands.add_parser(models)
    train_dates.add_parser(models)
    train_text.add_parser(models)
    train_vit.add_teacher_parser(models)
    for model in models.choices.values():
        model.set_defaults(run=partial(_with_state_apart, model.get_default("run")))


def _with_state_apart(run: Callable[[argparse.Namespace], None], o: argparse.Namespace) -> None:
    """Run, unless the finished checkpoint would overwrite the state that the run could be resumed from."""
    if o.state is not None and o.state.resolve() == ((o.folder or checkpoints.FOLDER) / o.name).resolve():
        same = f"{o.state.name}.json"
        raise ValueError(f"the run's state and its checkpoint would be the same files ({same}): name --state otherwise")
    run(o)
