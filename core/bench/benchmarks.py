"""What is measured: pieces of the app, each with its reference and its aim."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from core import checkpoints
from core.bench.ratio import Work
from core.market.features import transform
from core.market.feeds.market_process import MarketProcess, MarketSettings
from core.market.predictor import load_predictor
from core.messages import compose
from core.models.folded_tlob import for_prediction
from core.models.tlob import BTC, TLOB
from core.models.vit import ViT, ViTConfig
from core.signs.decoding import beam_search

ROOT: Final = Path(__file__).resolve().parents[2]
MANY: Final = 32
"""Windows in a batch over a recording."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A candidate and its reference, and the units of work in one call of either."""

    candidate: Work
    reference: Work
    units: tuple[float, float] = (1.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """One line of the table.

    Attributes:
        what, reference: names. aim: the ratio to stay at or below. make: builds the pair; may take seconds.
    """

    what: str
    reference: str
    aim: float
    make: Callable[[], Pair]


def _inferring(function: Callable[[], object]) -> Work:
    def run() -> object:
        with torch.inference_mode():
            return function()

    return run


def _listing() -> Work:
    """One window through the document's listing, one pass."""
    listing, window = TLOB(BTC).eval(), torch.randn(1, BTC.steps, BTC.features)
    return _inferring(lambda: listing(window))


def _shipped(batch: int) -> tuple[nn.Module, Tensor]:
    predictor = load_predictor()
    windows = torch.randn(batch, predictor.window, predictor.config.features, device=predictor.device)
    return for_prediction(predictor.model), windows


def _one_window() -> Pair:
    model, window = _shipped(1)
    return Pair(candidate=_inferring(lambda: model(window)), reference=_listing())


def _with_maps() -> Pair:
    model, window = _shipped(1)
    return Pair(candidate=_inferring(lambda: model(window, return_attention=True)), reference=_listing())


def _recording() -> Pair:
    model, windows = _shipped(MANY)
    return Pair(candidate=_inferring(lambda: model(windows)), reference=_listing(), units=(MANY, 1))


def _features() -> Pair:
    predictor = load_predictor()
    market = next(iter(predictor.markets.values()))
    process, settings = MarketProcess(seed=0), MarketSettings()
    window = np.stack([process.step(settings).levels[:40] for _ in range(predictor.window)])[None]
    model, x = _shipped(1)
    return Pair(
        candidate=lambda: transform(window, predictor.transform, market.constants), reference=_inferring(lambda: model(x))
    )


def _encoder(config: ViTConfig) -> nn.Module:
    """PyTorch's encoder of the ViT's size, which takes its own fused path in inference."""
    layer = nn.TransformerEncoderLayer(
        config.width, config.heads, config.hidden, dropout=config.dropout, activation="gelu", batch_first=True
    )
    return nn.TransformerEncoder(layer, config.layers)


def _vit(batch: int) -> Pair:
    config: ViTConfig = checkpoints.read_config(checkpoints.read_card("vit"), ViT)
    model, encoder = ViT(config).eval(), _encoder(config).eval()
    images = torch.randn(batch, 1, config.side, config.side)
    tokens = torch.randn(batch, 1 + (config.side // config.patch) ** 2, config.width)
    return Pair(candidate=_inferring(lambda: model(images)), reference=_inferring(lambda: encoder(tokens)))


def _vit_training(batch: int = 64) -> Pair:
    config: ViTConfig = checkpoints.read_config(checkpoints.read_card("vit"), ViT)
    model, encoder = ViT(config).train(), _encoder(config).train()
    images = torch.randn(batch, 1, config.side, config.side)
    tokens = torch.randn(batch, 1 + (config.side // config.patch) ** 2, config.width)

    def step(network: nn.Module, x: Tensor) -> Work:
        def run() -> object:
            network.zero_grad()
            network(x).square().mean().backward()
            return None

        return run

    return Pair(candidate=step(model, images), reference=step(encoder, tokens))


def _beam() -> Pair:
    scores: NDArray[np.float32] = (
        torch.randn(141, 1232, generator=torch.Generator().manual_seed(0)).mul(3).log_softmax(-1).numpy()
    )
    return Pair(candidate=lambda: beam_search(scores), reference=lambda: plain_beam_search(scores))


def plain_beam_search(log_probabilities: NDArray[np.floating], *, width: int = 16, labels_a_frame: int = 20) -> tuple[int, ...]:
    """CTC prefix beam search (Graves 2006; Hannun et al. 2014) in plain Python, one label at a time."""
    beams: dict[tuple[int, ...], tuple[float, float]] = {(): (0.0, -np.inf)}
    for frame in np.asarray(log_probabilities, dtype=np.float64):
        found: dict[tuple[int, ...], list[float]] = {}
        labels = [int(one) for one in np.argsort(-frame)[: labels_a_frame + 1] if one][:labels_a_frame]
        for prefix, (blank, label) in beams.items():
            either = np.logaddexp(blank, label)
            at = found.setdefault(prefix, [-np.inf, -np.inf])
            at[0] = np.logaddexp(at[0], either + frame[0])
            if prefix:
                at[1] = np.logaddexp(at[1], label + frame[prefix[-1]])
            for one in labels:
                longer = found.setdefault((*prefix, one), [-np.inf, -np.inf])
                before = blank if prefix and prefix[-1] == one else either
                longer[1] = np.logaddexp(longer[1], before + frame[one])
        best = sorted(found.items(), key=lambda item: -float(np.logaddexp(item[1][0], item[1][1])))[:width]
        beams = {prefix: (blank, label) for prefix, (blank, label) in best}
    return next(iter(beams))


def _import() -> Pair:
    def python(code: str) -> Work:
        return lambda: subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)

    return Pair(candidate=python("import core.models.tlob"), reference=python("import torch"))


BENCHMARKS: Final[Mapping[str, Benchmark]] = {
    "tlob": Benchmark(
        what=compose("shipped TLOB, one window, both passes"),
        reference=compose("the document's listing, one pass"),
        aim=0.5,
        make=_one_window,
    ),
    "tlob-maps": Benchmark(
        what=compose("the same with all maps"), reference=compose("the document's listing, one pass"), aim=0.6, make=_with_maps
    ),
    "tlob-recording": Benchmark(
        what=compose("TLOB over a recording, a window"),
        reference=compose("the document's listing, one window at a time"),
        aim=1 / 6,
        make=_recording,
    ),
    "features": Benchmark(
        what=compose("inputs of a new row, computed anew"),
        reference=compose("shipped TLOB, one window"),
        aim=0.05,
        make=_features,
    ),
    "vit-256": Benchmark(
        what=compose("ViT forward, batch 256"),
        reference=compose("nn.TransformerEncoder of its size"),
        aim=1.0,
        make=lambda: _vit(256),
    ),
    "vit-1": Benchmark(
        what=compose("ViT forward, one image"),
        reference=compose("nn.TransformerEncoder of its size"),
        aim=1.0,
        make=lambda: _vit(1),
    ),
    "vit-training": Benchmark(
        what=compose("ViT training step, batch 64"),
        reference=compose("nn.TransformerEncoder of its size"),
        aim=0.9,
        make=_vit_training,
    ),
    "beam": Benchmark(
        what=compose("CTC beam search, T 141, V 1232"), reference=compose("the same in plain Python"), aim=0.05, make=_beam
    ),
    "import": Benchmark(what=compose("import core.models.tlob"), reference=compose("import torch"), aim=1.05, make=_import),
}


def selected(names: list[str] | None) -> Iterator[tuple[str, Benchmark]]:
    """The comparisons of these names, all by default.

    Raises:
        ValueError: for a name that is none of them.
    """
    for name in names or BENCHMARKS:
        if name not in BENCHMARKS:
            raise ValueError(f"no benchmark {name!r}: there are {', '.join(BENCHMARKS)}")
        yield name, BENCHMARKS[name]
