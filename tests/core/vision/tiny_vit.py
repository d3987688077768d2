"""A small ViT that has memorised the bundled test images, for tests alone.

Its checkpoint lies in `tests/fixtures/vit`; `python -m tests.core.vision.tiny_vit` makes it anew.
"""

from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from core import checkpoints
from core.models.vit import CLASSES, ViT, ViTConfig
from core.vision.classifier import energy
from core.vision.gallery import gallery

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "vit"
CONFIG = ViTConfig(width=32, heads=2, layers=2, hidden=64)
MEAN, STD = 0.286, 0.353


def learnt(config: ViTConfig = CONFIG, *, steps: int = 150, seed: int = 0) -> ViT:
    """The network, in evaluation mode."""
    torch.manual_seed(seed)
    images, labels, _rows = gallery()
    inputs = (torch.from_numpy(images.copy())[:, None].float() / 255 - MEAN) / STD
    targets = torch.from_numpy(labels)
    model = ViT(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for _step in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets, label_smoothing=0.1).backward()
        optimizer.step()
    return model.eval()


def save_tiny(folder: Path, *, name: str = "vit", model: ViT | None = None) -> Path:
    """A checkpoint whose card has what a classifier needs; the strangest of the 60 images does not count as a garment."""
    model = model or learnt()
    images = torch.from_numpy(gallery()[0].copy())[:, None].float() / 255
    with torch.no_grad():
        strangeness = energy(model((images - MEAN) / STD).double().numpy())
    card = {
        "model": "vit",
        "config": model.config.to_dict(),
        "classes": list(CLASSES),
        "transform": {"mean": MEAN, "std": STD},
        "calibration": {"temperature": 1.5},
        # in the middle between the two strangest, so that no processor's last bits decide
        "strangeness": {"threshold": round(float(np.sort(strangeness)[-2:].mean()), 3)},
        "data": [],
        "split": "none: the bundled images alone",
        "seed": 0,
        "command": "python -m tests.core.vision.tiny_vit",
        "versions": {},
        "metrics": {},
    }
    return checkpoints.save(name, model, card, folder=folder)


if __name__ == "__main__":
    save_tiny(FOLDER)
