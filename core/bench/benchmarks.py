"""Benchmarks: pieces of the app, each with its reference and its aim."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from core.bench import networks
from core.bench.ratio import Pair


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """One line of the table.

    Attributes:
        what, reference: names. aim: the ratio to stay at or below. make: builds the pair; may take seconds.
        quick: whether it is measured where little time is given: in less than two seconds.
    """

    what: str
    reference: str
    aim: float
    make: Callable[[], Pair]
    quick: bool = True


def _piece(name: str) -> Callable[[], Pair]:
    """A function of `core.bench.pieces`, which needs packages that a machine for training alone does not have."""

    def make() -> Pair:
        pair: Pair = getattr(import_module("core.bench.pieces"), name)()
        return pair

    return make


LISTING: Final = "the document's listing, one pass"

BENCHMARKS: Final[Mapping[str, Benchmark]] = {
    "tlob": Benchmark(what="shipped TLOB, one window, both passes", reference=LISTING, aim=0.8, make=networks.one_window),
    "tlob-maps": Benchmark(what="the same with all maps", reference=LISTING, aim=0.8, make=networks.with_maps),
    "feed": Benchmark(
        what="a message of Binance to a book of the program",
        reference="ccxt alone with the same messages",
        aim=1.15,
        make=_piece("feed"),
        quick=False,
    ),
    "vit-1": Benchmark(
        what="ViT forward, one image", reference="nn.TransformerEncoder of its size", aim=1.1, make=networks.one_image
    ),
    "film": Benchmark(
        what="IIGA on a film of 120 frames, file to glosses",
        reference="decoding the frames alone",
        aim=2.0,
        make=_piece("film"),
        quick=False,
    ),
}


def selected(names: list[str] | None, *, quick: bool = False) -> Iterator[tuple[str, Benchmark]]:
    """The comparisons of these names, all by default, or the quick ones of them.

    Raises:
        ValueError: for a name that is none of them.
    """
    for name in names or BENCHMARKS:
        if name not in BENCHMARKS:
            raise ValueError(f"no benchmark {name!r}: there are {', '.join(BENCHMARKS)}")
        if BENCHMARKS[name].quick or not quick:
            yield name, BENCHMARKS[name]
