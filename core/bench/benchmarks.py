"""Benchmarks: pieces of the app, each with its reference and its aim."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Final, Protocol

from core.bench import networks
from core.bench.ratio import Ratio
from core.messages import compose


class Measurable(Protocol):
    """Measurable pair that `Benchmark.make` builds."""

    def measure(self, seconds: float) -> Ratio:
        """The candidate's time by the reference's, measured for about so many seconds."""
        ...


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """One line of the table.

    Attributes:
        what, reference: names. aim: the ratio to stay at or below. make: builds the pair; may take seconds.
        more_ms: whether the aim is instead so many milliseconds more than the reference takes.
        quick: whether it is measured where little time is given: in less than two seconds, without a process of its own.
    """

    what: str
    reference: str
    aim: float
    make: Callable[[], Measurable]
    more_ms: bool = False
    quick: bool = True

    def reached(self, measured: Ratio) -> float:
        """Number that is to be at or below the aim."""
        return measured.candidate_ms - measured.reference_ms if self.more_ms else measured.ratio


def _piece(name: str) -> Callable[[], Measurable]:
    """A function of `core.bench.pieces`, which needs packages that a machine for training alone does not have."""

    def make() -> Measurable:
        measurable: Measurable = getattr(import_module("core.bench.pieces"), name)()
        return measurable

    return make


LISTING: Final = compose("the document's listing, one pass")
ENCODER: Final = compose("nn.TransformerEncoder of its size")

BENCHMARKS: Final[Mapping[str, Benchmark]] = {
    "tlob": Benchmark(
        what=compose("shipped TLOB, one window, both passes"), reference=LISTING, aim=0.5, make=networks.one_window
    ),
    "tlob-maps": Benchmark(what=compose("the same with all maps"), reference=LISTING, aim=0.6, make=networks.with_maps),
    "tlob-recording": Benchmark(
        what=compose("TLOB over a recording, a window"),
        reference=compose("the document's listing, one window at a time"),
        aim=1 / 6,
        make=networks.recording,
    ),
    "tlob-peak": Benchmark(
        what=compose("TLOB over a recording, a multiply-add"),
        reference=compose("a multiply-add of a product of large matrices"),
        aim=2.0,
        make=networks.of_the_peak,
    ),
    "features": Benchmark(
        what=compose("inputs that a new row changes, the least"),
        reference=compose("computing all 128 rows"),
        aim=0.05,
        make=_piece("features"),
    ),
    "feed": Benchmark(
        what=compose("a message of Binance to a book of the program"),
        reference=compose("ccxt alone with the same messages"),
        aim=1.15,
        make=_piece("feed"),
        quick=False,
    ),
    "step": Benchmark(
        what=compose("a step of a market with a viewer, processor time"),
        reference=compose("the time between two steps"),
        aim=0.02,
        make=_piece("a_step"),
        quick=False,
    ),
    "peers": Benchmark(
        what=compose("all shipped forecasters and TLOB, one window"),
        reference=compose("TLOB alone"),
        aim=1.5,
        make=_piece("peers"),
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
    "import": Benchmark(
        what=compose("import core.models.tlob"),
        reference=compose("import torch"),
        aim=1.05,
        make=_piece("importing"),
        quick=False,
    ),
    "start": Benchmark(
        what=compose("streamlit run to the first answer"),
        reference=compose("an empty Streamlit app"),
        aim=1_000,
        make=_piece("starting"),
        more_ms=True,
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
