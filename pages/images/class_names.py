"""The classes of garments in the reader's language."""

from __future__ import annotations

from typing import Final

from pages.shared.language import N_, _

NAMES: Final = (
    N_("T-shirt/top"),
    N_("Trouser"),
    N_("Pullover"),
    N_("Dress"),
    N_("Coat"),
    N_("Sandal"),
    N_("Shirt"),
    N_("Sneaker"),
    N_("Bag"),
    N_("Ankle boot"),
)
"""As `core.models.vit.CLASSES` has them; a test holds both equal."""
PHOTOGRAPHED: Final = (
    N_("T-shirt"),
    N_("Long sleeve"),
    N_("Shirt"),
    N_("Trousers"),
    N_("Dress"),
    N_("Coat or jacket"),
    N_("Shoes"),
    N_("Hat"),
    N_("Shorts"),
    N_("Skirt"),
)
"""As `core.vision.photographs.KINDS` has them; a test holds both equal."""


def garment(name: str) -> str:
    """A class's name, translated."""
    return _(name)
