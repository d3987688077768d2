"""`python -m core train tlob` and `train deeplob`: the same data, labels and loop for both."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from core import checkpoints
from core.cli import options
from core.market.answers.recordings import find_recordings
from core.market.book import read_market
from core.market.features import TRANSFORM_KINDS, directed_inputs, input_names
from core.market.labels import HORIZONS, LABEL_KINDS, Head
from core.market.predictor import Predictor
from core.market.store.segments import is_segment
from core.models.deeplob import DeepLOBConfig
from core.models.tlob import TLOBConfig
from core.receipts import CHECKPOINTS, DATA, OUT, Receipt
from core.training.loop import Callback, LoopSettings, progress_bar
from core.training.progress_file import progress_file
from core.training.tlob import TLOBTraining, prepare_market
from core.training.tlob_gain import measure_gains
from core.training.tlob_run import RULE_STRIDE, MarketFiles, run


def add_parser(models: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `train tlob`."""
    p = models.add_parser("tlob", help="TLOB on order-book files", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    _add_data(p)
    options.add_checkpoint_output(p, name="tlob")
    p.add_argument("--transform", choices=TRANSFORM_KINDS, default="ladder", help="input transform (D9)")
    p.add_argument("--qkv", choices=("double", "single"), default="single", help="the document's listing, or the lean layer (D4)")
    p.add_argument("--pairs", type=int, default=4, help="pairs of layers, 1 to 12")
    p.add_argument("--positions", choices=("learned", "sinusoidal"), default="learned", help="positional encoding")
    p.add_argument("--pooling", choices=("mean", "last", "learned"), default="last", help="over timesteps (D6)")
    p.add_argument("--dropout", type=float, default=0.0)
    p.add_argument("--mirrored", action="store_true", help="answer with the mean of the book's pass and its mirror image's")
    _add_loop(p)
    p.set_defaults(run=partial(_train, _tlob))


def add_deeplob_parser(models: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `train deeplob`."""
    p = models.add_parser("deeplob", help="TLOB's peer DeepLOB", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    _add_data(p)
    options.add_checkpoint_output(p, name="deeplob")
    book = [kind for kind in TRANSFORM_KINDS if len(input_names(kind)) == DeepLOBConfig.features]
    p.add_argument("--transform", choices=book, default="ladder", help="input transform (D9)")
    _add_loop(p)
    p.set_defaults(run=partial(_train, _deeplob))


def _add_data(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "--data",
        nargs="+",
        action="append",
        required=True,
        type=options.place,
        metavar="FILE",
        help="one market's Parquet or CSV files, a folder or a store's URL (s3://...); repeat the option for each market",
    )
    p.add_argument(
        "--share", nargs="+", type=float, help="share of the windows from each market, in the order given; equal where left out"
    )
    p.add_argument("--horizon", nargs="+", type=int, default=list(HORIZONS), help="steps ahead, one head each")
    p.add_argument("--label", nargs="+", choices=LABEL_KINDS, default=list(LABEL_KINDS), help="labels of D8, one head each")


def _add_loop(p: argparse.ArgumentParser) -> None:
    p.add_argument("--epochs", type=int, default=24)
    p.add_argument("--windows", type=int, default=80_000, help="windows an epoch")
    p.add_argument("--batch", type=int, default=128)
    options.add_optimiser(p, rate=2e-3, weight_decay=0.01, ema=0.998, warmup=200)
    p.add_argument("--patience", type=int, default=6, help="epochs without a better validation score before stopping")
    p.add_argument("--bf16", action=argparse.BooleanOptionalAction, default=True, help="forward pass in bfloat16")
    p.add_argument("--stride", type=int, default=5, help="validate on every so many-th window")
    options.add_run(p)
    p.add_argument("--start", type=Path, default=None, help="begin with the best weights of a run, by its state or card (.json)")
    p.add_argument(
        "--start-share", type=float, default=0.0, help="average the final weights with those of --start, which count this share"
    )
    p.add_argument("--rule-stride", type=int, default=RULE_STRIDE, help="fit call rules on every so many-th validation window")
    p.add_argument("--progress", type=Path, default=None, help="keep a JSON file up to date with how the run stands")
    options.add_test(p)
    p.add_argument("--test-every", type=int, default=1, help="score every so many-th row of the test part")


def _tlob(o: argparse.Namespace, outputs: int) -> TLOBConfig:
    return TLOBConfig(
        features=len(input_names(o.transform)),
        directed=directed_inputs(o.transform),
        qkv=o.qkv,
        pairs=o.pairs,
        positions=o.positions,
        pooling=o.pooling,
        dropout=o.dropout,
        mirrored=o.mirrored,
        outputs=outputs,
    )


def _deeplob(o: argparse.Namespace, outputs: int) -> DeepLOBConfig:
    return DeepLOBConfig(outputs=outputs)


def _train(configure: Callable[[argparse.Namespace, int], TLOBConfig | DeepLOBConfig], o: argparse.Namespace) -> None:
    o.data = [_files_of(group) for group in o.data]
    files = [MarketFiles(paths=tuple(path.absolute() for path in group)) for group in o.data]
    if o.share is not None and len(o.share) != len(files):
        raise ValueError(f"{len(o.share)} shares for {len(files)} markets: give one a market")
    loop = options.loop_settings(o, steps=o.windows // o.batch, patience=o.patience, bf16=o.bf16)
    callbacks = [progress_bar(loop, title=o.name), *([] if o.progress is None else [progress_file(o.progress, loop)])]
    path = _compute(configure, o, files, loop, callbacks)
    heads = _heads(o)
    _complete_card(path, o, files, heads, configure(o, len(heads)).steps)
    print(f"wrote {path} and its weights")


def _heads(o: argparse.Namespace) -> list[Head]:
    return [(label, horizon) for label in o.label for horizon in o.horizon]


def _compute(
    configure: Callable[[argparse.Namespace, int], TLOBConfig | DeepLOBConfig],
    o: argparse.Namespace,
    files: list[MarketFiles],
    loop: LoopSettings,
    callbacks: Iterable[Callback],
) -> Path:
    """Train; returns the card's path."""
    training = TLOBTraining(
        transform=o.transform,
        batch=o.batch,
        windows_per_epoch=o.windows,
        seed=o.seed,
        validation_stride=o.stride,
        shares=dict(zip([one.name for one in files], o.share, strict=True)) if o.share else {},
    )
    heads = _heads(o)
    return run(
        o.name,
        files,
        heads,
        configure(o, len(heads)),
        training,
        loop,
        folder=o.folder,
        state=o.state,
        start=o.start,
        start_share=o.start_share,
        rule_stride=o.rule_stride,
        test=o.test,
        test_every=o.test_every,
        callbacks=callbacks,
    )


def _files_of(group: list[Path | str]) -> list[Path]:
    """The files of one market: those named, and all of the folders named."""
    places = options.here(group)
    if all(place.is_file() for place in places):
        return places
    days = find_recordings(places)
    markets = sorted({day.market for day in days})
    if len(markets) > 1:
        names = ", ".join(markets)
        raise ValueError(f"the folder holds {len(markets)} markets ({names}): give each its own --data")
    return [path for day in days for path in sorted(day.paths)]


ELSEWHERE = frozenset(("folder", "state", "progress", "data", "start", "run", "command", "model", "overwrite"))
"""Options that a receipt writes otherwise, or not at all."""


def _complete_card(path: Path, o: argparse.Namespace, files: list[MarketFiles], heads: list[Head], steps: int) -> None:
    """Add to the card whether the training was worth it, and its receipt.

    A run that started from another's state has none: only this machine has that state.
    """
    if o.start is not None and o.start.suffix != ".json":
        return
    card = json.loads(path.read_text(encoding="utf-8"))
    if o.test:
        markets = [prepare_market(one.name, read_market(list(one.paths)), heads, steps) for one in files]
        trained = Predictor(checkpoints.load(path.stem, folder=path.parent))
        card["metrics"]["gains"] = measure_gains(trained, o.start, markets)
    path.write_text(json.dumps(card | {"receipt": _receipt(path, o, card).to_dict()}, indent=1, ensure_ascii=False) + "\n")


def _place_below(file: Path) -> str:
    """A file's place in a receipt: market, day and hour of one of the library, whose name alone says little; else its name."""
    return "/".join(file.parts[-4:]) if is_segment(file) else file.name


def _receipt(path: Path, o: argparse.Namespace, card: dict[str, Any]) -> Receipt:
    words = ["train", o.model]
    for group in o.data:
        words += ["--data", *(f"{DATA}/{_place_below(one)}" for one in group)]
    if o.start is not None:
        words += ["--start", f"{CHECKPOINTS}/{o.start.name}"]
    for name, value in vars(o).items():
        option = name.replace("_", "-")
        if name in ELSEWHERE or value is None or value == []:
            continue
        if isinstance(value, bool):
            words += [f"--{option}"] if value else [] if name == "mirrored" else [f"--no-{option}"]
        else:
            words += [f"--{option}", *(str(one) for one in (value if isinstance(value, list) else [value]))]
    start = (
        {} if o.start is None else {o.start.stem: checkpoints.read_card(o.start.stem, folder=o.start.parent)["weights_sha256"]}
    )
    return Receipt(
        kind="training",
        command=[*words, "--folder", OUT],
        data={_place_below(one): checkpoints.sha256(one) for group in o.data for one in group},
        weights=start,
        results={
            "weights": checkpoints.fingerprint(path),
            "history": [{key: value for key, value in row.items() if key != "seconds"} for row in card["history"]],
            "gains": card["metrics"].get("gains", {}),
        },
        seed=o.seed,
    )
