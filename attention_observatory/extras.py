"""Packages that an extra of the installation brings."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def of_extra(name: str) -> Iterator[None]:
    """Says which extra brings a package that is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        brings = f"pip install 'attention-observatory[{name}]' brings it"
        raise ModuleNotFoundError(f"{error.name} is not installed: {brings}", name=error.name) from error
