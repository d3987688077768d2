"""An equation of several rows as separate short ones, which a narrow column can wrap."""

import re
from typing import Final

OUTER: Final = re.compile(r"^\\begin\{(aligned|gathered)\}(.*)\\end\{\1\}$", re.DOTALL)
TOKEN: Final = re.compile(r"\\begin\{[^}]*\}|\\end\{[^}]*\}|\\\\(?:\[[^\]]*\])?|\\&|&|\\left|\\right|[{}]")


def lines(formula: str) -> list[str]:
    r"""The rows of an outer `aligned` or `gathered`, without its marks; a formula that is neither is one row.

    A row of two equations side by side ("a &= b & c &= d") becomes two rows. Rows and columns of matrices inside stay.
    """
    text = formula.strip()
    outer = OUTER.match(text)
    if outer is None or _depth_falls_to_zero(text):
        return [formula]
    return [equation for row in _split(outer[2], r"\\") for equation in _pairs(_split(row, "&")) if equation.strip()]


def _depth_falls_to_zero(text: str) -> bool:
    """Tells whether the first environment ends before the text does, so that there is no outer one."""
    depth = 0
    for token in TOKEN.finditer(text):
        depth += token[0].startswith(r"\begin") - token[0].startswith(r"\end")
        if depth == 0 and token[0].startswith(r"\end"):
            return token.end() < len(text)
    return True


def _split(text: str, at: str) -> list[str]:
    """Parts of a text between marks that stand in no environment and no braces."""
    parts, depth, start = [], 0, 0
    for token in TOKEN.finditer(text):
        mark = token[0]
        if mark.startswith(r"\begin") or mark in ("{", r"\left"):
            depth += 1
        elif mark.startswith(r"\end") or mark in ("}", r"\right"):
            depth -= 1
        elif depth == 0 and (mark.startswith(r"\\") if at == r"\\" else mark == at):
            parts.append(text[start : token.start()])
            start = token.end()
    return [*parts, text[start:]]


def _pairs(cells: list[str]) -> list[str]:
    """Left and right sides put together again: cells 1 and 2, 3 and 4, and so on."""
    return ["".join(cells[at : at + 2]).strip() for at in range(0, len(cells), 2)]
