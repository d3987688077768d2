"""Arithmetic of printed LaTeX: of a line `a = b = c`, those neighbours that are numbers alone, evaluated."""

import math
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np

TOKEN: Final = re.compile(r"\\(?:begin|end)\{bmatrix\}|\\\\|\\[a-zA-Z]+|\d+(?:\.\d+)?|[-+/()^{}&]")
SPACES: Final = re.compile(r"\\left|\\right|(?<!\\)\\[!,; ]|\{,\}|\\(?:begin|end)\{(?:aligned|gathered|cases)\}|\\q?quad|\s")
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    r"\sqrt": np.sqrt, r"\sin": np.sin, r"\cos": np.cos, r"\tanh": np.tanh, r"\ln": np.log
}  # fmt: skip


class NotNumbersError(ValueError):
    """A side with letters, words or dots."""


class _Side:
    """One side of an equation, by recursive descent: sums of products of numbers, fractions, functions and matrices."""

    def __init__(self, text: str) -> None:
        bare = SPACES.sub("", text)
        self.tokens = TOKEN.findall(bare)
        if "".join(self.tokens) != bare or not bare:
            raise NotNumbersError(text)

    def value(self) -> Any:
        result = self._sum()
        if self.tokens:
            raise NotNumbersError(self.tokens[0])
        return result

    def _next(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def _take(self, wanted: str = "") -> str:
        if not self.tokens or (wanted and self.tokens[0] != wanted):
            raise NotNumbersError(wanted)
        return self.tokens.pop(0)

    def _sum(self) -> Any:
        total = self._product()
        while self._next() in ("+", "-"):
            sign = 1 if self._take() == "+" else -1
            total = total + sign * self._product()
        return total

    def _product(self) -> Any:
        if self._next() in ("-", "+"):
            return (-1 if self._take() == "-" else 1) * self._product()
        total = self._power()
        while self._next() and self._next() not in ("+", "-", ")", "}", "&", r"\\", r"\end{bmatrix}"):
            if self._next() == "/":
                self._take()
                total = total / self._power()
                continue
            if self._next() in (r"\cdot", r"\times"):
                self._take()
            other = -self._power() if self._next() == "-" and self._take() else self._power()
            total = total @ other if np.ndim(total) == np.ndim(other) == 2 else total * other
        return total

    def _power(self) -> Any:
        base = self._atom()
        if self._next() != "^":
            return base
        self._take()
        return base ** (self._group() if self._next() == "{" else float(self._take()))

    def _group(self) -> Any:
        self._take("{")
        value = self._sum()
        self._take("}")
        return value

    def _atom(self) -> Any:
        token = self._take()
        if token in (r"\frac", r"\tfrac"):
            return self._group() / self._group() if self._next() == "{" else self._digits()
        if token in FUNCTIONS:
            inside = self._group() if self._next() == "{" else self._sum_in_brackets() if self._next() == "(" else self._power()
            return FUNCTIONS[token](inside)
        if token == r"\begin{bmatrix}":
            rows = [[self._sum()]]
            while (mark := self._take()) != r"\end{bmatrix}":
                if mark == r"\\":
                    rows.append([self._sum()])
                elif mark == "&":
                    rows[-1].append(self._sum())
                else:
                    raise NotNumbersError(mark)
            return np.array(rows)
        if token == "(":
            self.tokens.insert(0, token)
            return self._sum_in_brackets()
        try:
            return float(token)
        except ValueError as error:
            raise NotNumbersError(token) from error

    def _digits(self) -> float:
        both = self._take()  # \tfrac12
        if not re.fullmatch(r"\d\d", both):
            raise NotNumbersError(both)
        return int(both[0]) / int(both[1])

    def _sum_in_brackets(self) -> Any:
        self._take("(")
        value = self._sum()
        self._take(")")
        return value


def evaluated(side: str) -> Any:
    """The value of one side.

    Raises:
        NotNumbersError: for one that is not numbers alone.
    """
    return _Side(side).value()


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
