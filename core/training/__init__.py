"""Training, one file a model: its options, its data, its task and what it writes. `core.training.loop` is the loop of all.

Recipes that users need are here, those of the other shipped models in the laboratory (`lab.training`).
"""

from typing import Final

RECIPES: Final = {
    "tlob": ("core.training.tlob", "TLOB on order-book files"),
    "vit": ("lab.training.vit", "ViT on Fashion-MNIST's IDX files"),
    "cct": ("lab.training.cct", "compact convolutional transformer on photographs of garments"),
    "iiga": ("lab.training.iiga", "IIGA on photographed digits or tracked sentences"),
    "iiga-hands": ("lab.training.iiga_hands", "IIGA on the landmarks of hands"),
    "dates": ("core.training.dates", "the encoder-decoder Transformer on written dates (its data is generated)"),
    "vit-teacher": ("lab.training.vit", "a convolutional teacher for the ViT, on the same images"),
}
"""Model -> the module with its recipe (in `RECIPES` of that module, by the same name), and a line about it."""
