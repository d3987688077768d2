"""An equation of a lesson with the numbers of its view."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Worked:
    """An equation and its calculation, LaTeX, and a note in plain words."""

    formula: str
    calculation: str = ""
    note: str = ""
