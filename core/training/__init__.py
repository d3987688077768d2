"""Training, one file a model: its options, its data, its task and what it writes. `core.training.loop` is the loop of all."""

from __future__ import annotations

from typing import Final

RECIPES: Final = {
    "tlob": ("tlob", "TLOB on order-book files"),
    "vit": ("vit", "ViT on Fashion-MNIST's IDX files"),
    "cct": ("cct", "compact convolutional transformer on photographs of garments"),
    "iiga": ("iiga", "IIGA on photographed digits or tracked sentences"),
    "iiga-hands": ("iiga_hands", "IIGA on the landmarks of hands"),
    "dates": ("dates", "the encoder-decoder Transformer on written dates (its data is generated)"),
    "vit-teacher": ("vit", "a convolutional teacher for the ViT, on the same images"),
}
"""Command -> the file with its recipe (in `RECIPES` of that file, by the same name), and a line about it."""
