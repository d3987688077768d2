"""Counts of multiply-adds and parameters as people read them: 62.1 M, also in LaTeX and as sums that add up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.lecture.shown_digits import digits_needed, total
from pages.learn.frame import tex
from pages.shared.language import number, significant

MEGA, GIGA = 1e6, 1e9


def amount(count: float) -> str:
    """A count in millions or billions: 62.1 M."""
    if count >= GIGA:
        return f"{significant(count / GIGA, 4)} G"
    return f"{significant(count / MEGA, 3)} M" if count >= MEGA else number(count)


def tex_amount(count: float) -> str:
    """The same for LaTeX."""
    written = amount(count).replace(",", "{,}").replace("\N{NO-BREAK SPACE}", r"\,")
    return written.replace(" M", r"\,\mathrm{M}").replace(" G", r"\,\mathrm{G}")


def tex_amounts(counts: Sequence[int], result: int, *, compute: Callable[..., float] = total) -> tuple[list[str], str]:
    """Counts and what they give, for LaTeX, all in one unit and with as many decimals as make the printed numbers agree.

    Args:
        compute: of the counts, in that unit.
    """
    unit, sign = (GIGA, "G") if result >= GIGA else (MEGA, "M") if result >= MEGA else (1, "")
    decimals = 0 if unit == 1 else next(n for n in range(1, 10) if result / unit >= 10 ** (2 - n))
    digits = 0 if unit == 1 else digits_needed(compute, *(count / unit for count in counts), result=decimals)
    mark = rf"\,\mathrm{{{sign}}}" if sign else ""
    shown = [tex(count / unit, digits) + mark if round(count / unit, digits) else tex_amount(count) for count in counts]
    return shown, tex(result / unit, decimals) + mark
