"""`python -m core bench`: speed on this machine, as ratios to references in the same run."""

from __future__ import annotations

import argparse
import json
import math
import platform
from pathlib import Path
from typing import Any

import torch

from core.bench import cuda, ratio
from core.cli.options import JSON
from core.training.recipe import add_rows


def add_options(p: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_rows(
        p,
        ("quick", False, "half a second for each in place of three"),
        ("against", Path, "an earlier run's JSON: prints its ratios beside"),
        ("cuda", False, "what a CUDA device makes of the networks, beside its own peak"),
        JSON,
    )
    p.set_defaults(run=lambda o: (_run_cuda if o.cuda else _run)(o))


def _run(o: argparse.Namespace) -> None:
    base, rows = _ratios_of(o.against) if o.against else {}, []
    for row in ratio.rows(0.5 if o.quick else 3.0):
        rows.append(row | ({"base": base[row["name"]]} if row["name"] in base else {}))
        if not o.json:
            print(_line(rows[-1]), flush=True)
    if o.json:
        capability = torch.backends.cpu.get_cpu_capability()
        machine = {"processor": platform.machine(), "capability": capability, "torch": torch.__version__}
        print(json.dumps({"machine": machine, "python": platform.python_version(), "rows": rows}))


def _run_cuda(o: argparse.Namespace) -> None:
    """Print the device's rows as each is measured; without a device what to expect of an H100, and that it is an estimate."""
    measured, there = [], torch.cuda.is_available()
    if not there and not o.json:
        print("No CUDA device here. Estimates for an H100, from what was measured on an H200:")
    for row in cuda.rows(1.0) if there else cuda.expected():
        measured.append(row.as_dict())
        if not o.json:
            share = "" if math.isnan(row.share) else f"   {100 * row.share:.1f} % of the peak"
            print(f"{row.what:<60} {row.value:14,.2f} {row.unit}{share}", flush=True)
    if o.json:
        machine = {"device": torch.cuda.get_device_name() if there else None, "torch": torch.__version__}
        print(json.dumps({"machine": machine, "estimated": not there, "rows": measured}))


def _line(row: dict[str, Any]) -> str:
    """One comparison in words."""
    before = f"   before {row['base']:.3f}" if "base" in row else ""
    return (
        f"{row['what']:<40} {row['ratio']:7.3f}  ({row['low']:.3f} to {row['high']:.3f})  aim {row['aim']:.3f}"
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
