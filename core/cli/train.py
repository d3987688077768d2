"""`python -m core train MODEL`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from core.cli import options, train_cct, train_dates, train_iiga, train_iiga_hands, train_text, train_tlob, train_vit


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
        model.set_defaults(run=partial(_with_files_apart, model.get_default("run")))


def _with_files_apart(run: Callable[[argparse.Namespace], None], o: argparse.Namespace) -> None:
    """Run, unless the checkpoint would replace a shipped one, or the state that the run could be resumed from."""
    o.name = o.name or train_iiga.usual_name(o.data)
    card = o.folder / f"{o.name}.json"
    state = None if o.state is None else o.state.with_suffix(".json")
    if state is not None and state.resolve() == card.resolve():
        raise ValueError(f"the run's state and its checkpoint would be the same files ({card.name}): name --state otherwise")
    options.keep_shipped(o, card, *(path for path in (state, getattr(o, "progress", None)) if path is not None))
    run(o)
