"""`python -m core bench`: speed on this machine, as ratios to references in the same run."""

import argparse
import json
import platform
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from core.cli.options import JSON
from core.training.recipe import add_rows
from lab.bench.benchmarks import BENCHMARKS, selected


def add_options(p: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    p.add_argument("--only", nargs="+", metavar="NAME", choices=list(BENCHMARKS), help=f"some of: {', '.join(BENCHMARKS)}")
    add_rows(
        p,
        ("quick", False, "only those that take little time, half a second each"),
        ("seconds", float, "time spent on each comparison: 3 where left out"),
        ("threads", 1, "of the processor; the app predicts on one"),
        ("against", Path, "an earlier run's JSON: prints its ratios beside"),
        JSON,
    )
    p.set_defaults(run=_run)


def _run(o: argparse.Namespace) -> None:
    from core.usage import compute_device  # needs packages that a machine for training alone does not have

    base = _ratios_of(o.against) if o.against else {}
    torch.set_num_threads(o.threads)
    rows: list[dict[str, Any]] = []
    seconds = o.seconds if o.seconds is not None else 0.5 if o.quick else 3.0
    for name, one in tqdm(list(selected(o.only, quick=o.quick)), unit="benchmark", disable=None):
        rounded = {of: round(value, 4) for of, value in vars(one.make().measure(seconds)).items()}
        row = {"name": name, "what": one.what, "reference": one.reference, "aim": round(one.aim, 4), **rounded}
        rows.append(row | ({"base": base[name]} if name in base else {}))
    machine = {
        "processor": compute_device().name,
        "capability": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__,
    }
    if o.json:
        print(json.dumps({"machine": machine, "python": platform.python_version(), "threads": o.threads, "rows": rows}))
        return
    print(f"{machine['processor']}, {machine['capability']}, {o.threads} thread(s), torch {machine['torch']}")
    for row in rows:
        print(_line(row))


def _line(row: dict[str, Any]) -> str:
    """One benchmark in words."""
    before = f"   before {row['base']:.3f}" if "base" in row else ""
    return (
        f"{row['what']:<50} {row['ratio']:7.3f}  ({row['low']:.3f} to {row['high']:.3f})  aim {row['aim']:.3f}"
        f"  {row['candidate_ms']:9.3f} ms by {row['reference_ms']:9.3f} ms of {row['reference']}{before}"
    )


def _ratios_of(path: Path) -> dict[str, float]:
    """Ratios by name of an earlier run.

    Raises:
        ValueError: where the file is not such a run's.
    """
    try:
        return {str(row["name"]): float(row["ratio"]) for row in json.loads(path.read_text(encoding="utf-8"))["rows"]}
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is no output of `bench --json`: {error}") from error
