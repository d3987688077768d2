"""A trained ViT with its card: grey images in; calibrated probabilities, attention maps and a measure of strangeness out.

Pages, evaluation and the last step of training all use it, so that a page shows the same numbers as the card was measured with.

    classifier = load_classifier()                      # assets/checkpoints/vit.safetensors and its card
    p = classifier.probabilities(images)                # images: uint8 (n, 28, 28), 0 the background -> (n, 10)
    classifier.class_names[p[0].argmax()]               # "Ankle boot"
    maps = classifier.attention(images[:1])             # {"layer 1": (1, heads, 50, 50), ...}; token 0 is the class token
    doubt = classifier.strangeness(images)              # (n,), doubtful above classifier.threshold
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from core import checkpoints
from core.device import Placement, at_once, falls_back
from core.messages import BadValue, compose
from core.models import MODELS
from core.models.vit import CLASSES, ViT, ViTConfig
from core.scores import softmax
from core.vision.familiarity import Familiarity

Manner = Literal["dataset", "photograph"]
"""Default way of preparing a picture for a model: as the data set made its images, or as a photograph is."""
DEFAULT = "vit"
"""Answers on images of the data set's kind."""
PHOTOGRAPHS = "cct"
"""Answers on photographs, in the ten kinds of D30."""
BATCH = 250
Images = NDArray[np.uint8]
"""(n, side, side) grey levels, 0 the background, or (n, side, side, 3) colours."""


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The model's answers on n images, from one pass.

    Attributes:
        logits: (n, classes), before calibration.
        probabilities: (n, classes), the softmax of logits / temperature: of an image that shows one of the classes.
        strangeness: (n,), see `Classifier.strangeness`.
    """

    logits: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    strangeness: NDArray[np.float64]


class Classifier:
    """One checkpoint in memory. Safe to call from several threads: nothing in it changes after loading.

    Attributes:
        card: the checkpoint's card, with metrics, history and command.
        config: shape of the network. placement: the network itself, in evaluation mode, and its device.
        class_names: Fashion-MNIST's ten, or the ten kinds of photographs.
        mean, std: of grey levels in [0, 1], on the training images; the model reads (grey - mean) / std.
        temperature: divides the logits; fitted on validation.
        turn_margin: how much less strange an image must be in another position to count as turned; None: no image does.
        threshold: strangeness above which an image is flagged as unlike a garment.
        none_slope: how fast the odds of "none of these" grow with strangeness; they are even at the threshold.
        known_share: of the data set's validation images that stay under it; far fewer photographs of garments do.
        photographs: how the checkpoint did on photographs that people took of garments (D30): how many `samples` of the ten
            kinds, and which shares of these were `accuracy` and `flagged`; None where its card does not say.
        benchmark: share of Fashion-MNIST's test images that it is right on, of its validation images where these were not read;
            None where its card does not say.
        manner: how a picture is prepared for it where nobody chooses otherwise.
        fingerprint: SHA-256 of the card, which tells two classifiers apart.
    """

    def __init__(self, checkpoint: checkpoints.Checkpoint) -> None:
        self.card: dict[str, Any] = checkpoint.card
        self.fingerprint = hashlib.sha256(json.dumps(checkpoint.card, sort_keys=True).encode()).hexdigest()
        model = checkpoint.card["model"]
        kind = cast(type[ViT], MODELS[model][0]) if model in MODELS.reading("picture") else ViT
        self.config: ViTConfig = checkpoints.read_config(checkpoint.card, kind)
        with checkpoints.entries(checkpoint.card, kind.__name__) as card:
            self.class_names: tuple[str, ...] = tuple(card.get("classes", CLASSES))
            self.mean, self.std = float(card["transform"]["mean"]), float(card["transform"]["std"])
            self.temperature = float(card["calibration"]["temperature"])
            self.threshold = float(card["strangeness"]["threshold"])
            known = card["strangeness"]
            self.none_slope = float(known.get("slope", 1.0))
            self.known_share = float(known.get("known_share", 0.99))
            self.familiarity = Familiarity.from_dict(known, self.config.width) if "means" in known else None
            self.turn_margin: float | None = None if "turning" not in card else float(card["turning"]["margin"])
            self.manner: Manner = card.get("preparation", {}).get("manner", "dataset")
            self._check()
            benchmark = card["metrics"].get("test") or card["metrics"].get("validation") or {}
            unmeasured = self.manner == "photograph" or "accuracy" not in benchmark
            self.benchmark = None if unmeasured else float(benchmark["accuracy"])
            seen = card["metrics"].get("photographs")  # as `python -m core evaluate vit` prints it
            told = ("samples", "accuracy", "flagged")
            self.photographs = None if seen is None else {name: float(seen[name]) for name in told}
        self.placement = Placement(checkpoints.build_model(checkpoint, kind))

    @property
    def model(self) -> ViT:
        """The network, where it computes now."""
        return self.placement.model

    @property
    def device(self) -> torch.device:
        """The device that it computes on now."""
        return self.placement.device

    def _check(self) -> None:
        """Numbers that would make every answer meaningless.

        Raises:
            ValueError: where one of them is not finite or not positive, or the class names are not one for each output.
        """
        numbers = (self.mean, self.std, self.temperature, self.threshold, self.none_slope, self.turn_margin or 0.0)
        if not all(map(math.isfinite, numbers)):
            raise ValueError(compose("mean, standard deviation, temperature and threshold must be finite numbers"))
        if min(self.std, self.temperature) <= 0:
            raise ValueError(compose("standard deviation and temperature must be above 0"))
        if self.manner not in get_args(Manner):
            raise BadValue("its preparation must be one of {choices}", choices=", ".join(get_args(Manner)))
        if len(self.class_names) != self.config.classes or not all(isinstance(name, str) for name in self.class_names):
            raise BadValue("it must name {count} classes", count=self.config.classes)

    def quarter_turns(self, images: Images) -> NDArray[np.int64]:
        """(n,): by how many quarter turns counterclockwise each uint8 image (n, 28, 28) lies; 0 also where that is in doubt.

        An image is read in four positions, unless the model says that it lies upright. It lies so that it is the least in doubt
        when set upright, by the card's margin.
        """
        turns = np.zeros(len(images), np.int64)
        if self.turn_margin is None:
            return turns
        asked = self.lying(images) > 0 if self.model.lying is not None else np.ones(len(images), bool)
        if asked.any():
            doubt = doubt_by_position(self, images[asked])
            turns[asked] = np.where(doubt[:, 0] - doubt.min(axis=1) > self.turn_margin, doubt.argmin(axis=1), 0)
        return turns

    @falls_back
    def lying(self, images: Images) -> NDArray[np.float64]:
        """(n,): logarithm of the odds that a garment lies on a side or upside down, where an output of the model says so."""
        assert self.model.lying is not None
        return _numbers(self.model.lying(self._class_tokens(images))[:, 0])

    def none(self, strangeness: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,): the probability that an image shows none of the classes, a half at the threshold (D37)."""
        return np.asarray(1 / (1 + np.exp(np.clip(-self.none_slope * (strangeness - self.threshold), -500, 500))))

    def shares(self, answers: Answers) -> NDArray[np.float64]:
        """(n, classes): the probability of each class, that of "none of these" taken out: what a person is told (D37)."""
        return np.asarray(answers.probabilities * (1 - self.none(answers.strangeness))[:, None])

    def normalise(self, images: Images) -> Tensor:
        """uint8 images (n, side, side), (n, side, side, 3) of colour -> float32 (n, colours, side, side), standardised.

        Raises:
            ValueError: for another shape or another type of number.
        """
        self._check_images(images)
        levels = torch.from_numpy(images.copy()).to(self.device).float() / 255
        levels = levels[:, None] if levels.dim() == 3 else levels.permute(0, 3, 1, 2)
        return (levels - self.mean) / self.std

    def _check_images(self, images: object) -> None:
        side, colours = self.config.side, self.config.colours
        wanted = (side, side) if colours == 1 else (side, side, colours)
        if isinstance(images, np.ndarray) and images.dtype == np.uint8 and images.shape[1:] == wanted:
            return
        had = f"{images.dtype} of {images.shape}" if isinstance(images, np.ndarray) else type(images).__name__
        raise ValueError(
            f"{self.card['model']} reads images that are uint8 of shape (n, {', '.join(map(str, wanted))}), not {had}: "
            "prepare_upright prepares a picture for it, Classifier.enlarged the data set's images"
        )

    def enlarged(self, images: Images) -> Images:
        """The data set's grey images (n, 28, 28) as this model reads them: as they are, or larger and of three equal colours."""
        return images if self.config.colours == 1 else coloured(images, self.config.side)

    def answer(self, image: NDArray[np.uint8], unturned: NDArray[np.uint8] | None = None) -> Answers:
        """The answer on one prepared image, for pages and evaluation alike.

        Args:
            unturned: the image before it was set upright; what is strange in either position is strange.
        """
        answers = self.answers(image[None])
        before = answers.strangeness if unturned is None else self.strangeness(unturned[None])
        return replace(answers, strangeness=np.maximum(answers.strangeness, before))

    @falls_back
    def answers(self, images: Images) -> Answers:
        """Logits, calibrated probabilities and strangeness of uint8 images of the model's size, a batch at a time.

        Raises:
            ValueError: for images of another size than the model reads.
        """
        self._check_images(images)
        return self.answers_of(self._class_tokens(images))

    @torch.no_grad()
    def answers_of(self, tokens: Tensor) -> Answers:
        """The answers of what the head reads, (n, width)."""
        logits = _numbers(self.model.head(tokens))
        if self.model.rejection is not None:
            strangeness = _numbers(self.model.rejection(tokens)[:, 0]) + energy(logits)
        else:
            strangeness = energy(logits) if self.familiarity is None else self.familiarity.distance(_numbers(tokens))
        return Answers(logits=logits, probabilities=softmax(logits / self.temperature), strangeness=strangeness)

    def warm_up(self) -> None:
        """Compute what the first answer would wait for: the network for prediction, and the libraries' own preparations."""
        self.answers(self.enlarged(np.zeros((1, self.config.side, self.config.side), np.uint8)))

    @property
    def batch(self) -> int:
        """Images computed at once, where it computes now."""
        return at_once(self.config.colours * self.config.side**2, self.device, BATCH)

    @torch.no_grad()
    def _class_tokens(self, images: Images) -> Tensor:
        """(n, width): what the head reads, a batch at a time."""
        parts = [self.model.features(self.normalise(images[at : at + self.batch])) for at in range(0, len(images), self.batch)]
        return torch.cat(parts) if parts else torch.zeros(0, self.config.width, device=self.device)

    def probabilities(self, images: Images) -> NDArray[np.float64]:
        """(n, classes), rows summing to 1: softmax of the logits over the card's temperature."""
        return self.answers(images).probabilities

    @falls_back
    @torch.no_grad()
    def attention(self, images: Images) -> dict[str, NDArray[np.float32]]:
        """Every layer's weights by name, all heads (D13): "layer 1" -> (n, heads, 1 + patches, 1 + patches).

        Row 0 is what the class token looks at; column 1 + 7 i + j is the patch in row i and column j (patches of 4 pixels).
        """
        _, maps = self.model(self.normalise(images), return_attention=True)
        return {name: weights.float().cpu().numpy() for name, weights in maps.items()}

    def strangeness(self, images: Images) -> NDArray[np.float64]:
        """(n,): how little an image is like those trained on: see `core.vision.familiarity`.

        Of a CCT it is the logarithm of the odds of "none of the ten", an output of its own; of a ViT whose card lacks the
        training images' means, the free energy of the logits (Liu et al. 2020). To compare with `threshold`: a high value is a
        reason for doubt, a low one proves nothing.
        """
        return self.answers(images).strangeness


def _numbers(tensor: Tensor) -> NDArray[np.float64]:
    return np.asarray(tensor.detach().double().cpu().numpy())


def coloured(images: Images, side: int) -> Images:
    """Square grey images (n, s, s) for a model that reads colour: (n, side, side, 3)."""
    grey = torch.from_numpy(images.copy())[:, None].float()
    sized = F.interpolate(grey, size=(side, side), mode="bicubic", align_corners=False, antialias=True)
    return np.repeat(sized.round().clamp(0, 255).byte().permute(0, 2, 3, 1).numpy(), 3, axis=-1)


def doubt_by_position(classifier: Classifier, images: Images) -> NDArray[np.float64]:
    """(n, 28, 28) -> (n, 4): doubt as given, and turned clockwise by 90, 180 and 270 degrees.

    It is the model's own output for lying where it has one, else its strangeness.
    """
    doubt = classifier.lying if classifier.model.lying is not None else classifier.strangeness
    positions = [np.ascontiguousarray(np.rot90(images, -quarters, axes=(1, 2))) for quarters in range(4)]
    return np.stack([doubt(one) for one in positions], axis=1)


def energy(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, classes) -> (n,): -log sum exp(logits), low where some class is strongly recognised."""
    return np.asarray(-np.logaddexp.reduce(logits, axis=1))


def classifier_names(folder: Path = checkpoints.FOLDER) -> list[str]:
    """Names of the folder's checkpoints that a `Classifier` can be made of, in alphabetical order."""
    return sorted(name for model in MODELS.reading("picture") for name in checkpoints.names(model, folder=folder))


def default_name(names: list[str], *, photograph: bool) -> str:
    """The checkpoint that answers where nobody chose one: `PHOTOGRAPHS` on photographs, else `DEFAULT`; the first without it."""
    wanted = PHOTOGRAPHS if photograph and PHOTOGRAPHS in names else DEFAULT
    return wanted if wanted in names or not names else names[0]


def load_classifier(name: str = DEFAULT, *, folder: Path = checkpoints.FOLDER) -> Classifier:
    """The checkpoint of that name.

    Raises:
        CheckpointError: where it is missing, damaged, or not a ViT's.
    """
    return Classifier(checkpoints.load(name, folder=folder))
