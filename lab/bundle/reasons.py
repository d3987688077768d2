"""Deletion test of a forecast's reasons on held-out recordings: `python -m lab.bundle.reasons`.

Of each window the six groups of `core.market.reasons` go back to their mean of the last hour, the one that gives most to the
answer first. The answer should fall faster than over all 720 orders, whose mean is exact: it is the mean over all choices of as
many groups. Writes assets/explain/reasons_tlob.json, which the terminal reads. Probabilities are the card's, before a market's
own recalibration.
"""

import argparse
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
import torch
from tqdm import tqdm

from core.device import use_one_thread
from core.explain.occlusion import without
from core.market.answers.intervals import mean_interval
from core.market.book import STEP_MS, BookRows, FloatArray
from core.market.features import input_names
from core.market.labels import DOWN, UP
from core.market.predictor import MarketCard, Predictor, load_predictor
from core.market.reasons import GROUPS, UsualInputs, group_parts
from core.market.reasons_measured import MarketTest, ReasonsTest, path_of, write
from core.market.store.index import recordings
from core.market.store.rows import read_market
from core.market.windows import window_ends
from core.training.recipe import add_rows

SUBSETS: Final = np.array(list(product((False, True), repeat=len(GROUPS))))
"""(64, groups): every choice of groups that are put back."""
ALONE: Final = 1 << np.arange(len(GROUPS))[::-1]
"""(groups,): place in `SUBSETS` of each group by itself; of several it is the sum of theirs."""
HELD_OUT: Final = 0.8
"""Share of a file that is named, before which a market's rows were trained or chosen on (its card's split)."""
LAST_HOUR: Final = 14_400
"""Rows."""
MAY_BE_DEAD: Final = ("_ADDED", "_REMOVED")


def area_below_chance(answers: FloatArray) -> float:
    """Area between the mean curve of all orders and that of the groups by what each gives alone.

    Args:
        answers: (64,) of `SUBSETS`: the number that should fall, the first with nothing put back.
    """
    order = np.argsort(answers[ALONE], kind="stable")
    ranked = answers[[0, *np.cumsum(ALONE[order])]]
    chance = [answers[SUBSETS.sum(axis=1) == taken].mean() for taken in range(len(GROUPS) + 1)]
    return float(np.trapezoid(np.array(chance) - ranked, np.linspace(0, 1, len(GROUPS) + 1)))


def leans(predictor: Predictor, entry: MarketCard, inputs: torch.Tensor) -> FloatArray:
    """(n, heads): P(up) - P(down) of inputs (n, steps, columns), by the card."""
    p = np.stack([rule.probabilities(predictor.logits(inputs)[:, i]) for i, rule in enumerate(entry.rules)], axis=1)
    return np.asarray(p[..., UP] - p[..., DOWN])


def measure_market(predictor: Predictor, entry: MarketCard, rows: BookRows, *, begin: int, most: int, name: str) -> MarketTest:
    """The test on windows that do not overlap, at most so many, evenly over the rows from `begin` on."""
    ends = window_ends(rows.timestamps, predictor.window)
    ends = ends[(ends >= begin + 60_000 // STEP_MS)][:: predictor.window]
    ends = ends[np.unique(np.linspace(0, len(ends) - 1, most).round().astype(int))]
    usual, areas, gives, dead = UsualInputs(predictor, entry), [], [], []
    parts = group_parts(predictor.transform, predictor.window)
    may_be_dead = torch.tensor([0 if column.endswith(MAY_BE_DEAD) else -1 for column in input_names(predictor.transform)])
    for end in tqdm(ends.tolist(), unit="window", desc=name, disable=None):
        past = slice(max(0, end + 1 - LAST_HOUR), end + 1)
        usual.follow(rows.timestamps[past], rows.levels[past])
        mean = usual.mean()
        if mean is None:
            continue
        inputs = predictor.inputs(rows.levels[None, end + 1 - predictor.window : end + 1], entry)[0]
        answers = leans(predictor, entry, without(inputs, mean, parts, SUBSETS))
        signed = answers * np.where(answers[0] < 0, -1, 1)
        areas.append([area_below_chance(column) for column in signed.T])
        gives.append(np.abs(answers[0] - answers[ALONE]))
        dead.append(np.abs(answers[0] - leans(predictor, entry, without(inputs, mean, may_be_dead, np.ones((1, 1), bool)))[0]))
    intervals = np.array([mean_interval(column) for column in np.array(areas).T])
    return MarketTest(
        name=name,
        windows=len(areas),
        areas=tuple(map(tuple, np.round(intervals, 5).tolist())),
        gives=tuple(map(tuple, np.round(np.mean(gives, axis=0).T, 5).tolist())),
        dead=float(np.round(np.max(dead), 5)),
    )


def main(words: Sequence[str] | None = None) -> None:
    """Run the command."""
    p = argparse.ArgumentParser(prog="python -m lab.bundle.reasons", description=__doc__)
    p.add_argument("files", nargs="*", metavar="NAME=FILE", help='the last fifth of others: "Bitstamp BTC/USD=rows.parquet"')
    add_rows(p, ("checkpoint", "tlob", "its name"), ("most", 120, "windows of a market"))
    o = p.parse_args(words)
    use_one_thread()
    predictor = load_predictor(o.checkpoint)
    markets = [(f"{one.venue} {one.market}", one.path, 0.0) for one in recordings()]
    markets += [(name, Path(file), HELD_OUT) for name, _is, file in (text.partition("=") for text in o.files)]
    tests = []
    for name, path, share in markets:
        rows, entry = read_market([path]), predictor.market(f"{name} {path.stem}")
        tests.append(measure_market(predictor, entry, rows, begin=int(share * len(rows)), most=o.most, name=name))
    named = "".join(f' "{name}={path.name}"' for name, path, share in markets if share)
    test = ReasonsTest(
        weights_sha256=predictor.card["weights_sha256"],
        command=f"python -m lab.bundle.reasons{named} --most {o.most}",
        heads=predictor.heads,
        markets=tuple(tests),
    )
    write(test, path_of(o.checkpoint))
    for one in tests:
        print(one)


if __name__ == "__main__":
    main()
