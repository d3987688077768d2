"""Benchmarks: pieces of the app, each with its reference and its aim."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Final

import torch
from torch import nn

from core import checkpoints
from core.market.predictor import load_predictor
from core.models.tlob import BTC, TLOB
from core.models.vit import ViT, ViTConfig
from lab.bench.ratio import Pair


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


def _window(*, maps: bool) -> Pair:
    """One window through the TLOB that predicts, beside the document's listing, one pass."""
    predictor, listing = load_predictor(), TLOB(BTC).eval()
    window = torch.randn(1, predictor.window, predictor.config.features, device=predictor.device)
    theirs = torch.randn(1, BTC.steps, BTC.features)
    return Pair(
        candidate=torch.inference_mode()(lambda: predictor.model(window, return_attention=maps)),
        reference=torch.inference_mode()(lambda: listing(theirs)),
    )


def _image() -> Pair:
    """The shipped ViT's size beside PyTorch's encoder of that size, which has no patches to embed and no head."""
    c: ViTConfig = checkpoints.read_config(checkpoints.read_card("vit"), ViT)
    layer = nn.TransformerEncoderLayer(c.width, c.heads, c.hidden, dropout=c.dropout, activation="gelu", batch_first=True)
    model, theirs = ViT(c).eval(), nn.TransformerEncoder(layer, c.layers).eval()
    image, tokens = torch.randn(1, 1, c.side, c.side), torch.randn(1, 1 + c.patches, c.width)
    return Pair(candidate=torch.inference_mode()(lambda: model(image)), reference=torch.inference_mode()(lambda: theirs(tokens)))


def _piece(name: str) -> Pair:
    """A function of `lab.bench.pieces`, which needs packages that a machine for training alone does not have."""
    pair: Pair = getattr(import_module("lab.bench.pieces"), name)()
    return pair


LISTING: Final = "the document's listing, one pass"

BENCHMARKS: Final[Mapping[str, Benchmark]] = {
    "tlob": Benchmark(what="shipped TLOB, one window, both passes", reference=LISTING, aim=0.8, make=lambda: _window(maps=False)),
    "tlob-maps": Benchmark(what="the same with all maps", reference=LISTING, aim=0.8, make=lambda: _window(maps=True)),
    "feed": Benchmark(
        what="a message of Binance to a book of the program",
        reference="ccxt alone with the same messages",
        aim=1.15,
        make=lambda: _piece("feed"),
        quick=False,
    ),
    "vit-1": Benchmark(what="ViT forward, one image", reference="nn.TransformerEncoder of its size", aim=1.1, make=_image),
    "sight": Benchmark(
        what="a photograph from its file to the first message, 336 pixels",
        reference="the network that sees anything alone",
        aim=1.3,
        make=lambda: _piece("sight"),
        quick=False,
    ),
    "writer": Benchmark(
        what="SmolLM2, one further token with its maps",
        reference="reading its weights once",
        aim=1.5,
        make=lambda: _piece("writer"),
        quick=False,
    ),
    "film": Benchmark(
        what="IIGA on a film of 120 frames, file to glosses",
        reference="decoding the frames alone",
        aim=2.0,
        make=lambda: _piece("film"),
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
