"""Bundled photographs of anything: a cat, a cup, a person, a rocket, and one of the garments (`THIRD_PARTY.md` says whose)."""

from functools import cache
from pathlib import Path
from typing import Final

from core.messages import N_
from core.vision.gallery import photograph_gallery
from core.vision.pictures import Picture, decode

FOLDER: Final = Path(__file__).parents[2] / "assets" / "pictures" / "see"
SHOES: Final = 19
"""Place among the bundled photographs of garments."""
NAMES: Final = {"astronaut": N_("Astronaut"), "cup": N_("Cup"), "shoes": N_("Shoes"), "cat": N_("Cat"), "rocket": N_("Rocket")}
"""Names of the photographs for readers, by the word that a link holds. The page opens on the first, of which a third stands out;
of the cat's face nearly all does."""


@cache
def sample(name: str) -> Picture:
    """The photograph of one of `NAMES`."""
    data = photograph_gallery()[SHOES].data if name == "shoes" else (FOLDER / f"{name}.jpg").read_bytes()
    return decode(data, name=NAMES[name])
