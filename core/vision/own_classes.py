"""Classes that a visitor teaches by a few pictures each: a linear head on a trained model's features, which stay as they are.

The head is a logistic regression on standardised features. Its held-out score asks about each fifth of every class's pictures,
one after the other as they were taken, after fitting on the other four: neighbouring shots of a webcam are almost the same, and
would make a score on a random fifth far too good.

A picture is unlike all of them where it is further from those taught, against the nearest of a background, than nine in ten of
them were while they were held out. The background is features of pictures of other things that came with the app
(`scripts/bundle_garments.py` of commit 4dbd20f6); docs/lab/photographs.md has what that is worth.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file
from torch.nn import functional as F

from core import npz
from core.messages import Refusal
from core.scores import softmax
from core.vision.classifier import Classifier
from core.vision.pictures import Bytes, Picture
from core.vision.preprocessing import Recipe, prepare

Floats = NDArray[np.float64]
FOLDS: Final = 5
FEWEST: Final = FOLDS
"""Pictures a class, so that each fold has one."""
RECOMMENDED: Final = 20
FAMILIAR: Final = 0.9
"""Share of the pictures taught by that count as like what was taught."""
BACKGROUND: Final = Path(__file__).resolve().parents[2] / "assets" / "pictures" / "background.safetensors"
"""Features of pictures of many things by one model, by the name of its base, see `OwnClasses`: (n, width)."""
MAX_CLASSES: Final = 12
LONGEST_NAME: Final = 40
PENALTY: Final = 0.01
"""Weight of the squared weights in the loss."""
LARGEST_FILE: Final = 1 << 20
"""Bytes that a file of a head may unpack to."""


class OwnClassesError(Refusal, ValueError):
    """Pictures that no head can be fitted to, or a file that holds none; the message says why and what would be right."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OwnClasses:
    """A fitted head.

    Attributes:
        names: of the classes. counts: pictures that each was taught by.
        mean, deviation: of the features, (width,). weights: (classes, width). bias: (classes,).
        taught: the pictures' standardised features, (pictures, width).
        reach: distance (`distances`) within which `FAMILIAR` of the pictures lay while they were held out.
        typical: distance within which half of them lay.
        held_out: share of the pictures answered rightly by heads that were fitted without them.
        base: the model's weights by their SHA-256, without which the head means nothing.
    """

    names: tuple[str, ...]
    counts: tuple[int, ...]
    mean: Floats
    deviation: Floats
    weights: Floats
    bias: Floats
    taught: NDArray[np.float16]
    reach: float
    typical: float
    held_out: float
    base: str

    def fits(self, classifier: Classifier) -> bool:
        """Tells whether it was fitted on this model's features."""
        return base_of(classifier) == self.base

    def answer(self, classifier: Classifier, image: Bytes) -> tuple[Floats, bool]:
        """uint8 (side, side, 3) -> (classes,) probabilities, that of none taken out, and whether it is like what was taught.

        Raises:
            OwnClassesError: for another model than the head was fitted on.
        """
        features = classifier.appearance(image[None])
        if not self.fits(classifier) or features.shape[1] != len(self.mean):
            raise OwnClassesError("these classes were taught to another model: choose that one, or teach them again")
        x = (features - self.mean) / self.deviation
        others = (background_of(self.base, len(self.mean)) - self.mean) / self.deviation
        distance = float(distances(x, self.taught.astype(np.float64), others)[0])
        return softmax(x @ self.weights.T + self.bias)[0] * (1 - self.none(distance)), distance <= self.reach

    def none(self, distance: float) -> float:
        """The probability of none of the classes at a distance: a half at `reach` (D37).

        At the typical distance of a picture like those taught by it is as small as the share of these beyond `reach`.
        """
        steepness = math.log(FAMILIAR / (1 - FAMILIAR)) / max(self.reach - self.typical, 1e-9)
        return 1 / (1 + math.exp(min(steepness * (self.reach - distance), 500.0)))

    def to_npz(self) -> bytes:
        """The head as a file."""
        return npz.to_bytes({name: np.asarray(getattr(self, name)) for name in ARRAYS})

    def to_code(self, model: str) -> str:
        """A program that holds the head and runs it on the checkpoint of that name."""
        return CODE.replace("{head}", base64.b64encode(self.to_npz()).decode()).replace("{model}", model)


def as_read(classifier: Classifier, picture: Picture) -> Bytes:
    """A picture as the model reads it, whole and as it lies."""
    return prepare(picture, replace(as_it_lies(classifier), crop="whole"), side=classifier.config.side).image


def as_it_lies(classifier: Classifier) -> Recipe:
    """The recipe of a picture that is held on purpose as it is: a camera's frame, one to teach by."""
    return Recipe(manner=classifier.manner, border="none", turn="none")


CODE: Final = """import base64
from pathlib import Path

from attention_observatory import load
from core.vision.own_classes import as_read, read_own_classes
from core.vision.pictures import decode

head = read_own_classes(base64.b64decode("{head}"))
model = load("{model}")

# %%
picture = Path("photo.jpg")  # a file of yours
image = as_read(model, decode(picture.read_bytes(), name=picture.name))
probabilities, familiar = head.answer(model, image)
for name, share in sorted(zip(head.names, probabilities), key=lambda one: -one[1]):
    print(f"{name}: {share:.1%}")
print(f"none of these: {1 - sum(probabilities):.1%}")
"""
"""A program that answers with a head, without the app; `# %%` begins a cell of a notebook."""
ARRAYS: Final = ("names", "counts", "mean", "deviation", "weights", "bias", "taught", "reach", "typical", "held_out", "base")


def base_of(classifier: Classifier) -> str:
    """Hash that tells a model's features apart from another's."""
    return str(classifier.card["weights_sha256"])


def teach(classifier: Classifier, pictures: Sequence[tuple[str, Sequence[Bytes]]]) -> OwnClasses:
    """Fit a head to classes of pictures, each in the order in which they were taken.

    Args:
        pictures: a name and uint8 images (28, 28) for each class.

    Raises:
        OwnClassesError: for fewer than two classes or too many, names that are empty or occur twice, or too few pictures.
    """
    names = _checked_names([name for name, _images in pictures])
    for name, (_name, images) in zip(names, pictures, strict=True):
        if len(images) < FEWEST:
            raise OwnClassesError(
                "{name} has {count} pictures: give {fewest} or more, better {better}",
                name=name,
                count=len(images),
                fewest=FEWEST,
                better=RECOMMENDED,
            )
    features = np.concatenate([classifier.appearance(np.stack(images)) for _name, images in pictures])
    labels = np.concatenate([np.full(len(images), row) for row, (_name, images) in enumerate(pictures)])
    folds = np.concatenate([np.arange(len(images)) * FOLDS // len(images) for _name, images in pictures])
    return _fit_head(names, features, labels, folds, base_of(classifier))


def _checked_names(given: Sequence[str]) -> tuple[str, ...]:
    """Names without blanks around them.

    Raises:
        OwnClassesError: for fewer than two or too many, or names that are empty or occur twice.
    """
    names = tuple(name.strip() for name in given)
    if not 2 <= len(names) <= MAX_CLASSES:
        raise OwnClassesError("a head takes 2 to {most} classes, not {count}", most=MAX_CLASSES, count=len(names))
    if len(set(names)) < len(names) or not all(0 < len(name) <= LONGEST_NAME for name in names):
        raise OwnClassesError("each class needs a name of its own, of 1 to {most} letters", most=LONGEST_NAME)
    return names


@cache
def background_of(base: str, width: int) -> Floats:
    """(n, width): features of other things by the model of that hash; none of them where the file is another model's."""
    return load_file(BACKGROUND).get(base, np.zeros((0, width))).astype(np.float64)


def _fit_head(
    names: Sequence[str], features: Floats, labels: NDArray[np.int64], folds: NDArray[np.int64], base: str
) -> OwnClasses:
    """A head, scored on each fold by one that was fitted without it.

    Args:
        features: (n, width). labels: (n,) class of each. folds: (n,), below `FOLDS`; each class occurs in two or more.
    """
    others = background_of(base, features.shape[1])
    right, near = np.zeros(len(labels), dtype=bool), np.zeros(len(labels))
    for fold in np.unique(folds):
        asked = folds == fold
        mean, deviation, weights, bias = _fit(features[~asked], labels[~asked], len(names), others)
        x, kept, behind = ((some - mean) / deviation for some in (features[asked], features[~asked], others))
        right[asked] = (x @ weights.T + bias).argmax(axis=1) == labels[asked]
        near[asked] = distances(x, kept, behind)
    mean, deviation, weights, bias = _fit(features, labels, len(names), others)
    return OwnClasses(
        names=tuple(names),
        counts=tuple(int((labels == row).sum()) for row in range(len(names))),
        mean=mean,
        deviation=deviation,
        weights=weights,
        bias=bias,
        taught=((features - mean) / deviation).astype(np.float16),
        reach=float(np.quantile(near, FAMILIAR)),
        typical=float(np.median(near)),
        held_out=float(right.mean()),
        base=base,
    )


def distances(x: Floats, taught: Floats, others: Floats) -> Floats:
    """(n,): how much further standardised features (n, width) are from the nearest taught than from the nearest of the others.

    A distance is one less the cosine. Without others it is that from the nearest taught.
    """
    units = [some / np.maximum(np.linalg.norm(some, axis=1, keepdims=True), 1e-12) for some in (x, taught, others)]
    near = 1 - (units[0] @ units[1].T).max(axis=1)
    return np.asarray(near - (1 - (units[0] @ units[2].T).max(axis=1)) if len(others) else near)


def _fit(features: Floats, labels: NDArray[np.int64], classes: int, others: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Mean and deviation of the others' features, or of these without any; weights and bias of the logistic regression.

    All classes weigh the same in it.
    """
    scale = others if len(others) else features
    mean, deviation = scale.mean(axis=0), scale.std(axis=0) + 1e-3
    x, y = torch.from_numpy((features - mean) / deviation), torch.from_numpy(labels)
    share = torch.bincount(y, minlength=classes).double().reciprocal()
    weights = torch.zeros(classes, x.shape[1], dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(classes, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights, bias], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        value = F.cross_entropy(x @ weights.T + bias, y, weight=share) + PENALTY * weights.square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    return mean, deviation, weights.detach().numpy(), bias.detach().numpy()


def read_own_classes(data: bytes) -> OwnClasses:
    """The head in a file's bytes.

    Raises:
        OwnClassesError: for a file that holds none.
    """
    try:
        arrays = npz.from_bytes(data, ARRAYS, max_bytes=LARGEST_FILE)
        names = tuple(str(name) for name in arrays["names"].reshape(-1))
        counts = tuple(int(count) for count in arrays["counts"].reshape(-1))
        numbers = {name: arrays[name].astype(np.float64) for name in ("mean", "deviation", "weights", "bias")}
        taught = arrays["taught"].astype(np.float16)
        reach, typical, held_out = (float(arrays[name]) for name in ("reach", "typical", "held_out"))
        base = str(arrays["base"])
    except npz.NpzError as error:
        raise OwnClassesError("the file holds no classes taught here: {reason}", reason=error) from error
    except (TypeError, ValueError) as error:
        raise OwnClassesError("the file holds no classes taught here: its arrays are of other kinds") from error
    width = len(numbers["mean"])
    shapes = {"mean": (width,), "deviation": (width,), "weights": (len(names), width), "bias": (len(names),)}
    fits = all(numbers[name].shape == shape for name, shape in shapes.items()) and len(counts) == len(names)
    fits = fits and taught.ndim == 2 and len(taught) > 0 and taught.shape[1] == width and bool((numbers["deviation"] > 0).all())
    finite = all(np.isfinite(one).all() for one in numbers.values()) and bool(np.isfinite(taught).all())
    finite = finite and math.isfinite(reach) and math.isfinite(typical)
    named = all(0 < len(name) <= LONGEST_NAME for name in names) and 2 <= len(names) <= MAX_CLASSES
    if not (fits and finite and named):
        raise OwnClassesError("the file holds no classes taught here: its arrays do not fit together")
    return OwnClasses(
        names=names, counts=counts, reach=reach, typical=typical, held_out=held_out, base=base, taught=taught, **numbers
    )
