"""`python -m core train MODEL`: finds the model's recipe (`core.training.RECIPES`), which holds its options and its training."""

import argparse
from functools import partial
from pathlib import Path
from typing import Final

from core.cli import LazyParser, find_module, options
from core.training import RECIPES
from core.training.recipe import TrainingRecipe

READERS: Final = {
    "tlob": ("core.cli.options", "market_files"),
    "cct": ("lab.training.garment_photographs", "read"),
    "iiga": ("lab.training.hand_photographs", "read_digits"),
    "iiga-hands": ("lab.training.hand_photographs", "read_landmarks"),
}
"""Module and function of what finds or reads a model's data with packages that a machine for training alone does not have."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the models; the options of each are added when it is chosen."""
    models = parser.add_subparsers(dest="model", required=True, metavar="MODEL", parser_class=LazyParser)
    for name, (_, text) in RECIPES.items():
        model = models.add_parser(name, help=text, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
        model.fill = partial(_fill, name)


def _fill(name: str, parser: argparse.ArgumentParser) -> None:
    recipe: TrainingRecipe = find_module(RECIPES[name][0]).RECIPES[name]
    parser.description = recipe.description
    recipe.add_options(parser)
    parser.set_defaults(run=partial(_run, recipe))


def _run(recipe: TrainingRecipe, o: argparse.Namespace) -> None:
    """Run, unless the checkpoint would replace a shipped one, or the state that the run could be resumed from."""
    recipe.settle(o)
    card: Path = o.folder / f"{o.name}.json"
    state = None if o.state is None else o.state.with_suffix(".safetensors")
    if state is not None and state.resolve() == card.with_suffix(".safetensors").resolve():
        raise ValueError(f"the run's state and its checkpoint would be the same file ({state.name}): name --state otherwise")
    options.keep_shipped(o, card, *([] if state is None else [state]))
    if o.model not in READERS:
        path = recipe.run(o)
    else:
        module, function = READERS[o.model]
        path = recipe.run(o, getattr(find_module(module), function)(o))
    print(f"wrote {path} and its weights")
