"""Arithmetic of printed LaTeX: of a line `a = b = c`, those neighbours that are numbers alone, evaluated."""

import math
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np

SPACES: Final = re.compile(r"\\left|\\right|(?<!\\)\\[!,; ]|\{,\}|\\(?:begin|end)\{(?:aligned|gathered|cases)\}|\\q?quad|\s")
NAMES: Final[dict[str, Any]] = {"sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "ln": np.log, "matrix": np.array}
PYTHON: Final = (
    (r"\\begin\{bmatrix\}", "matrix([["), (r"\\end\{bmatrix\}", "]])"), (r"\\\\", "],["), (r"&", ","),
    (r"\\tfrac(\d)(\d)", r"(\1/\2)"), (r"\\(?:cdot|times)", "*"), (r"\^(\d+)", r"**\1"),
)  # fmt: skip
"""Python for each piece of LaTeX; for braces, the innermost first, those below."""
BRACES: Final = (
    (r"\\t?frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))"), (r"\^\{([^{}]*)\}", r"**(\1)"), (r"\\sqrt\{([^{}]*)\}", r"sqrt(\1)"),
)  # fmt: skip
BARE: Final = re.compile(rf"(?:{'|'.join(NAMES)}|[\d.+\-*/@(),\[\]])+")


class NotNumbersError(ValueError):
    """A side with letters, words or dots."""


def evaluated(side: str) -> Any:
    """The value of one side.

    Raises:
        NotNumbersError: for one that is not numbers alone.
    """
    text = SPACES.sub("", side)
    if re.search(r"[\[\],]", text):
        raise NotNumbersError(side)
    for pattern, python in PYTHON:
        text = re.sub(pattern, python, text)
    before = ""
    while text != before:
        before = text
        for pattern, python in BRACES:
            text = re.sub(pattern, python, text)
    text = re.sub(r"\\(sin|cos|tanh|ln)([\d.]+)", r"\1(\2)", text).replace("\\", "")
    text = re.sub(r"(?<=[\d)])(?=[(a-z])", "*", text.replace("]])matrix", "]])@matrix"))
    if not BARE.fullmatch(text):
        raise NotNumbersError(side)
    try:
        value = eval(text, {"__builtins__": {}}, NAMES)
    except SyntaxError as error:
        raise NotNumbersError(side) from error
    if isinstance(value, tuple):  # parted by an & outside of a matrix
        raise NotNumbersError(side)
    return np.asarray(value)[()]


def lines(calculation: str) -> list[str]:
    r"""The lines of a calculation, parted by \\ outside of matrices; one that begins with "=" or "+" goes on with the last."""
    found, depth = [""], 0
    for piece in re.split(r"(\\begin\{bmatrix\}|\\end\{bmatrix\}|\\\\(?:\[\w+\])?)", calculation):
        depth += {r"\begin{bmatrix}": 1, r"\end{bmatrix}": -1}.get(piece, 0)
        if piece.startswith(r"\\") and not depth:
            found.append("")
        else:
            found[-1] += piece if depth or "bmatrix" in piece else piece.replace("&", "")
    joined: list[str] = []
    for line in found:
        bare = SPACES.sub("", line)
        if bare.startswith(("=", "+")) and joined:
            joined[-1] += line
        else:
            joined.append(line)
    return joined


def equal_sides(calculation: str) -> Iterator[tuple[str, Any, str, Any]]:
    """Each pair of neighbours of the lines' chains that are numbers alone: texts and values."""
    for line in lines(calculation):
        sides: list[tuple[str, Any]] = []
        for part in re.split(r"=|,\\quad|,\\ ", line):
            try:
                sides.append((part, evaluated(part)))
            except NotNumbersError:
                sides.append((part, None))
        for (left, first), (right, second) in pairwise(sides):
            if first is not None and second is not None and f"{left}={right}" in line:
                yield left, first, right, second


def holds(left: Any, right: Any, printed: str) -> bool:
    """Tells whether the left value rounds to the right one, which is printed with so many decimals."""
    decimals = max((len(one) for one in re.findall(r"\d\.(\d+)", printed.replace("{,}", ""))), default=0)
    first, second = np.ravel(left), np.ravel(right)
    return len(first) == len(second) and all(
        math.isclose(a, b, rel_tol=1e-12, abs_tol=0.5 * 10**-decimals * (1 + 1e-9)) for a, b in zip(first, second, strict=True)
    )
