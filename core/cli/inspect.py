"""`python -m core inspect FILE...`: what order-book files of this or another program hold, or why they are refused."""

import argparse
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from core.cli.options import JSON
from core.market.formats import bounded
from core.market.formats.conversion import Inspection
from core.market.formats.readers import FORMATS
from core.market.formats.tables import FormatError
from core.training.recipe import add_rows


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the files."""
    parser.description = (
        "Open order-book files of one market: this program's CSV or Parquet, LOBSTER's two, tardis.dev's book_snapshot_25, "
        "FI-2010's text; days that follow each other, too. What is refused ends with 2 and a sentence."
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="of one market")
    add_rows(parser, JSON)
    parser.set_defaults(run=run)


def run(o: argparse.Namespace) -> None:
    """Print one JSON object, or a line a property."""
    counts = Counter(Path(file).name for file in set(o.files))
    files = {name if counts[name := Path(file).name] == 1 else file: Path(file) for file in o.files}
    try:
        seen = bounded.inspect(files)
    except (FormatError, OSError) as error:
        if o.json:
            print(json.dumps({"refused": str(error)}))
        raise
    answer, problems = as_json(seen), said_of(seen)
    if o.json:
        print(json.dumps(answer | {"problems": problems}))
    else:
        print(*(f"{key:<8} {value}" for key, value in answer.items()), *problems, FORMATS[seen.form].remark, sep="\n")


def as_json(seen: Inspection) -> dict[str, object]:
    """Contents of the files; times in ISO 8601."""
    first, last = (
        datetime.fromtimestamp(when / 1e3, UTC).isoformat(timespec="milliseconds") for when in (seen.start_ms, seen.end_ms)
    )
    return {"format": seen.form, "market": seen.market, "rows": seen.books, "gaps": seen.gaps, "first": first, "last": last}


def said_of(seen: Inspection) -> list[str]:
    """Sentences on what is wrong or odd."""
    rows = [f"row {one.row} {one.what}" for one in seen.problems]
    more = seen.problem_count - len(seen.problems)
    return [*seen.notes, *rows, *([f"{more} more rows are left out"] if more else [])]
