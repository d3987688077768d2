"""Writes into a checkpoint's card what its calls were worth: `python -m scripts.card_value --data FILE... [--data FILE...]`.

The measures of docs/value.md for every label and horizon, over consecutive rows at the beginning of each market's test part, as
`train tlob` writes them at the end of a run. They choose nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from core import checkpoints
from core.device import use_one_thread
from core.market.book import read_market
from core.market.predictor import DEFAULT, load_predictor
from core.training.tlob import prepare_market
from core.training.tlob_run import VALUE_ROWS, MarketFiles, score_values


def main() -> None:
    """Predict, measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", nargs="+", action="append", required=True, type=Path, help="one market's files; repeat it")
    parser.add_argument("--checkpoint", default=DEFAULT)
    parser.add_argument("--folder", type=Path, default=checkpoints.FOLDER)
    parser.add_argument("--rows", type=int, default=VALUE_ROWS, help="of each market's test part")
    o = parser.parse_args()
    use_one_thread()
    predictor = load_predictor(o.checkpoint, folder=o.folder)
    card = checkpoints.read_card(o.checkpoint, folder=o.folder)
    files = [MarketFiles(paths=tuple(paths)) for paths in o.data]
    markets = [prepare_market(one.name, read_market(list(one.paths)), predictor.heads, predictor.window) for one in files]
    words = [Path(word).name if Path(word).exists() else word for word in sys.argv[1:]]
    card["metrics"]["value"] = score_values(predictor, markets, rows=o.rows)
    card["metrics"]["value_command"] = f"python -m scripts.card_value {' '.join(words)}"
    path = o.folder / f"{o.checkpoint}.json"
    path.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
