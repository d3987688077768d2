"""Packages that an extra of the installation brings."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


@contextmanager
def of_extra(name: str) -> Iterator[None]:
    """Says which extra brings a package that is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        brings = f"pip install 'attention-observatory[{name}]' brings it"
        raise ModuleNotFoundError(f"{error.name} is not installed: {brings}", name=error.name) from error


def module_of_extra(module: str, name: str) -> Any:
    """A module of this project that needs the packages of an extra."""
    with of_extra(name):
        return import_module(module)
