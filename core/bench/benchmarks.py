"""Benchmarks: pieces of the app, each with its reference and its aim."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from core.bench import networks
from core.bench.ratio import Pair
from core.messages import compose


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


LISTING: Final = compose("the document's listing, one pass")
ENCODER: Final = compose("nn.TransformerEncoder of its size")

BENCHMARKS: Final[Mapping[str, Benchmark]] = {
    "tlob": Benchmark(
        what=compose("shipped TLOB, one window, both passes"), reference=LISTING, aim=0.5, make=networks.one_window
    ),
    "tlob-maps": Benchmark(what=compose("the same with all maps"), reference=LISTING, aim=0.6, make=networks.with_maps),
    "feed": Benchmark(
        what=compose("a message of Binance to a book of the program"),
        reference=compose("ccxt alone with the same messages"),
        aim=1.15,
        make=_piece("feed"),
        quick=False,
    ),
    "vit-256": Benchmark(
        what=compose("ViT forward, batch 256"), reference=ENCODER, aim=1.0, make=lambda: networks.vit_forward(256), quick=False
    ),
    "vit-1": Benchmark(what=compose("ViT forward, one image"), reference=ENCODER, aim=1.0, make=lambda: networks.vit_forward(1)),
    "vit-training": Benchmark(
        what=compose("ViT training step, batch 64"), reference=ENCODER, aim=0.9, make=networks.vit_training, quick=False
    ),
    "film": Benchmark(
        what=compose("IIGA on a film of 120 frames, file to glosses"),
        reference=compose("decoding the frames alone"),
        aim=2.0,
        make=_piece("film"),
        quick=False,
    ),
    "beam": Benchmark(
        what=compose("CTC beam search, T 141, V 1232"),
        reference=compose("the same in plain Python"),
        aim=0.05,
        make=networks.beam,
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
