"""The garment that a person is told. Nothing here loads torch, which the front page does without."""

from collections.abc import Sequence

from pages.shared.language import _, percent


def garment_words(named: Sequence[tuple[str, float]], digits: int = 1) -> str:
    """One kind with its probability, or the two that are likeliest."""
    kinds = [f"{_(name)} {percent(share, digits)}" for name, share in named]
    return kinds[0] if len(kinds) == 1 else _("{first} or {second}").format(first=kinds[0], second=kinds[1])
