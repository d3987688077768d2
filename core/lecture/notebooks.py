"""Self-contained notebooks: a template of plain Python with a view's values put in.

A template sets each of its values once, at the start of a line (`X = None  # tokens`), splits its cells with `# %%`, uses numpy
or torch alone, so that its notebook runs wherever Python does, and collects its results in `found`, of which the last cell
asserts the numbers that were on screen.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

TEMPLATES: Final = Path(__file__).resolve().parents[2] / "assets" / "snippets"
CELL: Final = re.compile(r"^# %%[^\n]*\n", re.MULTILINE)
DIGITS: Final = 9
"""Significant digits of a number in an array, more than a float32 has."""
BEFORE: Final = "_before.py"
"""A page's cells that its parts begin with, where it has any: those that begin with a cell (`# %%`) and not with imports."""
CHECK: Final = """
# %% The numbers that were on screen, as they were rounded there.
ON_SCREEN = {}
for name, shown in ON_SCREEN.items():
    print(name, found[name])
    assert np.allclose(found[name], shown, rtol=1e-4, atol=6e-4, equal_nan=True), f"{name}: {shown} was on screen"
"""
"""The last cell of every notebook."""


@cache
def template(page: str, part: str) -> str:
    """The template of a page's part: what the page's parts begin with, the part's own cells, and the check.

    Raises:
        FileNotFoundError: where there is none.
    """
    own = (TEMPLATES / page / f"{part}.py").read_text(encoding="utf-8").rstrip()
    before = TEMPLATES / page / BEFORE
    first = before.read_text(encoding="utf-8").rstrip() + "\n\n" if before.exists() and own.startswith("# %%") else ""
    return first + own + "\n" + CHECK


def rounded(values: Any, digits: int = 3) -> Any:
    """Numbers as a page shows them with so many decimals."""
    digits_kept = np.round(np.asarray(values, dtype=float), digits) + 0.0
    return digits_kept if digits_kept.ndim else float(digits_kept)


def literal(value: Any) -> str:
    """A value as Python writes it; an array of numbers as `np.array(...)` on one line."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            value = np.vectorize(lambda one: float(f"{one:.{DIGITS}g}") + 0.0, otypes=[float])(value)
        return (
            f"np.array({json.dumps(value.tolist())})".replace("Infinity", "np.inf")
            .replace("NaN", "np.nan")
            .replace("true", "True")
            .replace("false", "False")
        )
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {literal(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(one) for one in value) + "]"
    if isinstance(value, np.generic):
        return literal(value.item())
    if isinstance(value, float):
        return {"inf": "np.inf", "-inf": "-np.inf", "nan": "np.nan"}.get(repr(value), repr(value))
    return repr(value)


def on_screen(values: Mapping[str, Any], digits: int = 3) -> dict[str, Any]:
    """The value `ON_SCREEN` of a template: what a page shows, by the names that the template gives its results."""
    return {"ON_SCREEN": {name: rounded(value, digits) for name, value in values.items()}}


def fill(code: str, values: Mapping[str, Any]) -> str:
    """A template with values put in.

    Args:
        values: by the name of a variable that the template sets at the start of a line.

    Raises:
        KeyError: for a name that the template does not set.
    """
    for name, value in values.items():
        line = f"{name} = {literal(value)}"
        pattern = re.compile(rf"^{name} = .*?(?=(?:  #.*)?$)", re.MULTILINE)
        if not pattern.search(code):
            raise KeyError(f"the template sets no {name}")
        code = pattern.sub(line.replace("\\", r"\\"), code, count=1)
    return code


def notebook(code: str, heading: str = "") -> str:
    """A Jupyter notebook, JSON (nbformat 4.5), a cell a `# %%`.

    Args:
        heading: Markdown of a first cell; none where empty.
    """
    pieces = [piece.strip("\n") for piece in CELL.split(code) if piece.strip()]
    cells: list[dict[str, Any]] = []
    if heading:
        cells.append({"cell_type": "markdown", "id": "view", "metadata": {}, "source": heading.splitlines(keepends=True)})
    cells += [
        {
            "cell_type": "code",
            "id": f"step-{number}",
            "metadata": {},
            "execution_count": None,
            "outputs": [],
            "source": piece.splitlines(keepends=True),
        }
        for number, piece in enumerate(pieces, 1)
    ]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1)
