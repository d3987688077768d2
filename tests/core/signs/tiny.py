"""Two tiny untrained IIGAs in a folder, as the shipped checkpoints are named: one reads frames, one tracks."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from core import checkpoints
from core.models.iiga import IIGA, IIGAConfig
from core.signs import tracks
from core.signs.recogniser import ASL, DIGITS
from core.signs.samples import track_samples
from lab.signs.tracked_sentences import fit_scales, of_sentences

COMMON: dict[str, Any] = {
    "model": "iiga", "data": [], "split": "none", "seed": 0, "command": "no command", "versions": {}, "metrics": {},
}  # fmt: skip
FRAMES = IIGAConfig(vocabulary=11, width=16, heads=2, image_size=32, width_multiplier=0.1, image_channels=32)


def save_tiny(folder: Path, *, digits: str = DIGITS, asl: str = ASL) -> None:
    """Write both pairs of files."""
    torch.manual_seed(0)
    card = {**COMMON, "config": FRAMES.to_dict(), "vocabulary": list("0123456789"), "fps": 8.0, "stride": 1}
    card["metrics"] = {"dev": {"wer": 0.05, "sentences": 500}}
    checkpoints.save(digits, IIGA(FRAMES), card, folder=folder)
    sentences = track_samples()
    vocabulary = of_sentences([one.glosses for one in sentences])
    config = IIGAConfig(
        front="tracks", vocabulary=len(vocabulary), width=16, heads=2, track_features=tracks.FEATURES, track_kernel=3
    )
    card = {**COMMON, "config": config.to_dict(), "vocabulary": list(vocabulary.glosses), "fps": tracks.FPS}
    card |= {"stride": tracks.STRIDE, "scales": {name: asdict(one) for name, one in fit_scales(sentences).items()}}
    card["training_sentences"] = [" ".join(one.glosses) for one in sentences]
    card["metrics"] = {"test": {"wer": 0.3, "sentences": 40, "wer_unseen": 0.4, "unseen_sentences": 14}}
    checkpoints.save(asl, IIGA(config), card, folder=folder)
