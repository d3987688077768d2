"""The ViT of garments, from IDX files to a checkpoint: images, augmentation, loss, its teacher, its scores.

After vit-report, section 1.8.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from core import checkpoints
from core.device import best_device
from core.models.vit import CLASSES, ViT, ViTConfig
from core.nn import EncoderLayer
from core.scores import CALIBRATION_BINS, reliability, softmax
from core.training.card import begun, save, trained
from core.training.loop import Batch, LoopSettings
from core.training.recipe import TrainingRecipe, TrainingRun, add_rows, add_run, add_test, from_options, loop_of, run_of
from core.vision.classifier import BATCH, Classifier
from core.vision.familiarity import Familiarity
from lab.training.augment import Augmentation, augment
from lab.training.garment_teacher import GarmentTeacher, TeacherConfig
from lab.vision.calibration import fit_temperature, slope_of_typical
from lab.vision.idx import IdxPart, Images, Labels, fetch_missing, file_paths, read_part, stratified_split

Floats = NDArray[np.float64]
VALIDATION = 5_000
"""Training images held out for validation, 500 a class; of few images a tenth."""
SPLIT_SEED: Final = 0
"""Of the images held out, the same for every run, so that runs can be compared."""
CHECKED = 5_000
"""Training images that are scored after every epoch, unaugmented, so that the train-validation gap compares like with like."""


@dataclass(frozen=True, kw_only=True)
class ViTTraining:
    """Settings of the training.

    Attributes:
        batch: images a step.
        smoothing: label smoothing.
        soft: weight of the teacher's answer beside the labels', where there is a teacher.
        temperature: of the soft targets.
        augmentation: changes to the training images.
        teacher: name of a teacher's checkpoint in the same folder. compiled: compile the training step with torch.compile.
        seed: draws everything else.
    """

    batch: int = 128
    smoothing: float = 0.1
    soft: float = 0.8
    temperature: float = 2.0
    augmentation: Augmentation = field(default_factory=Augmentation)
    teacher: str | None = None
    compiled: bool = False
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class GarmentData:
    """Images as (n, 1, 28, 28) in [0, 1], and the constants that normalise them, from the training images alone."""

    train_images: Tensor
    train_labels: Tensor
    validation_images: Tensor
    validation_labels: Tensor
    mean: float
    std: float


def as_tensor(images: Images) -> Tensor:
    """(n, 28, 28) grey levels -> (n, 1, 28, 28) in [0, 1]."""
    return torch.from_numpy(images.copy())[:, None].float() / 255


def data_entries(folder: Path, garments: GarmentData) -> dict[str, Any]:
    """The card's entries on the images: how they are normalised, their files and their split."""
    return {
        "transform": {"mean": garments.mean, "std": garments.std, "of": "grey levels / 255, training images"},
        "data": checkpoints.describe_files(file_paths(folder, "train")),
        "split": f"{len(garments.train_labels):,} of the training images to train on, {len(garments.validation_labels):,} to "
        f"validate on (equal numbers a class, seed {SPLIT_SEED}); the test images are read once, at the end",
    }


def prepare(part: IdxPart, held_out: int) -> GarmentData:
    """Split the training part and measure the constants on what is trained on."""
    train, validation = stratified_split(part.labels, held_out, seed=SPLIT_SEED)
    images = as_tensor(part.images[train])

    def labels(rows: Labels) -> Tensor:
        return torch.from_numpy(part.labels[rows])

    return GarmentData(
        train_images=images,
        train_labels=labels(train),
        validation_images=as_tensor(part.images[validation]),
        validation_labels=labels(validation),
        mean=round(float(images.mean()), 6),
        std=round(float(images.std()), 6),
    )


class ViTTask:
    """Batches of augmented images in normalised units, and the loss; with a teacher, its soft answers to the same images."""

    def __init__(self, data: GarmentData, training: ViTTraining, *, teacher: GarmentTeacher | None = None) -> None:
        self.data, self.training, self.teacher = data, training, teacher

    def normalise(self, images: Tensor) -> Tensor:
        """[0, 1] -> the units the model reads."""
        return (images - self.data.mean) / self.data.std

    def batches(self, epoch: int) -> Iterator[Batch]:
        """Every training image once, in whole batches, in an order and with changes that the seed and the epoch decide."""
        t = self.training
        generator = torch.Generator().manual_seed(t.seed * 1_000_003 + epoch)
        order = torch.randperm(len(self.data.train_labels), generator=generator)
        for rows in order[: len(order) // t.batch * t.batch].split(t.batch):
            yield self.normalise(augment(self.data.train_images[rows], t.augmentation, generator)), self.data.train_labels[rows]

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """Cross-entropy with label smoothing; with a teacher, (1 - soft) of it + soft * divergence from the teacher's answers.

        The divergence is of both at the temperature, times its square (Hinton et al. 2015, section 2).
        """
        images, labels = batch
        t = self.training
        logits = model(images)
        hard = F.cross_entropy(logits, labels, label_smoothing=t.smoothing)
        if self.teacher is None:
            return hard
        with torch.no_grad():
            target = F.softmax(self.teacher(images) / t.temperature, dim=1)
        divergence = F.kl_div(F.log_softmax(logits / t.temperature, dim=1), target, reduction="batchmean") * t.temperature**2
        return (1 - t.soft) * hard + t.soft * divergence

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Accuracy and label-smoothed loss on the validation images and on as many training images, unaugmented."""
        scores = {}
        parts = {
            "train": (self.data.train_images[:CHECKED], self.data.train_labels[:CHECKED]),
            "validation": (self.data.validation_images, self.data.validation_labels),
        }
        for name, (images, labels) in parts.items():
            logits = answer(model, self.normalise(images))
            truth = labels.to(logits.device)
            scores[f"{name}_accuracy"] = float((logits.argmax(dim=1) == truth).float().mean())
            scores[f"{name}_loss"] = float(F.cross_entropy(logits, truth, label_smoothing=self.training.smoothing))
        return {"score": scores["validation_accuracy"], **scores}


@torch.no_grad()
def in_batches(model: nn.Module, compute: Callable[[Tensor], Tensor], images: Tensor, *, batch: int = 250) -> Tensor:
    """Answers of a model's function to normalised images, a few at a time, where the model is."""
    device = next(model.parameters()).device
    return torch.cat([compute(part.to(device)) for part in images.split(batch)])


def answer(model: nn.Module, images: Tensor) -> Tensor:
    """Logits of normalised images. Not compiled: shapes differ from training's."""
    return in_batches(model, model.forward, images)


NEIGHBOURS: Final = ((0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (-1, -1), (1, -1), (-1, 1))
"""Steps down and to the right, in patches; the heads take them in turn."""
SHARPNESS: Final = (10.0, 2.8)
"""Scale of queries and keys: in the first layer, where positions are scaled by 0.1, and in the others, after a LayerNorm."""


@torch.no_grad()
def start_local(model: ViT) -> None:
    """Set the weights so that each head of all layers but the last attends to one neighbour of its own patch.

    After Zheng et al. 2024, "Structured initialization for vision transformers": only the starting values differ from a plain
    ViT, and training may leave them behind.

    A head of width 2m reads the m fastest pairs of the positions. Turning the pair (sin wa, cos wa) by the angle wk gives the
    query of position a + k; its product with the key of position b, the sum of cos w(a + k - b), is largest at b = a + k. At
    first nothing but positions is written to these channels.
    """
    c = model.config
    size = c.width // c.heads
    pairs = size // 2
    frequencies = 10_000.0 ** (-torch.arange(0, 2 * pairs, 2) / c.width)
    model.embedding.weight[: 2 * pairs] = 0.0
    model.class_token.copy_(-model.positions.encoding[0])  # without a position it attends to all patches alike
    for index, layer in enumerate(model.layers[:-1]):
        assert isinstance(layer, EncoderLayer)
        layer.attention.out.weight[: 2 * pairs] = 0.0
        layer.feed_forward.fc2.weight[: 2 * pairs] = 0.0
        sharpness = SHARPNESS[min(index, 1)]
        for head in range(c.heads):
            down, right = NEIGHBOURS[(index * c.heads + head) % len(NEIGHBOURS)]
            rows = slice(head * size, (head + 1) * size)
            layer.attention.q.weight[rows] = sharpness * _turned(frequencies * (c.grid * down + right), size, c.width)
            layer.attention.k.weight[rows] = sharpness * _turned(torch.zeros(pairs), size, c.width)


def _turned(angles: Tensor, rows: int, columns: int) -> Tensor:
    """(rows, columns) of zeros, and 2 x 2 rotations along the diagonal, one per angle (radians)."""
    matrix = torch.zeros(rows, columns)
    for pair, angle in enumerate(angles):
        here = slice(2 * pair, 2 * pair + 2)
        matrix[here, here] = torch.stack([torch.stack([angle.cos(), angle.sin()]), torch.stack([-angle.sin(), angle.cos()])])
    return matrix


def load_teacher(name: str, *, folder: Path) -> GarmentTeacher:
    """The trained teacher, ready to be asked."""
    checkpoint = checkpoints.load(name, folder=folder)
    teacher = GarmentTeacher(TeacherConfig(**checkpoint.card["config"]))
    checkpoints.restore(teacher, checkpoint)
    teacher.lay_out_for_speed()
    return teacher


@torch.no_grad()
def widened(weights: dict[str, Tensor], fresh: dict[str, Tensor]) -> dict[str, Tensor]:
    """A narrower network's weights in the shapes of `fresh`, a wider network of the same kind before training (Chen et al. 2016).

    Only the feed-forward networks may be wider. Their new middle units keep their random incoming weights and get outgoing
    weights of 0, so the function stays the same and the units learn from the first step on. Other tensors stay as they are; one
    that does not fit is refused when the weights are loaded.
    """
    result = dict(weights)
    for name, wide in fresh.items():
        narrow = weights.get(name)
        if narrow is None or ".feed_forward." not in name or narrow.shape == wide.shape:
            continue
        if ".fc1." in name and len(narrow) < len(wide):
            result[name] = torch.cat([narrow, wide[len(narrow) :].to(narrow)])
        elif name.endswith(".fc2.weight") and narrow.shape[1] < wide.shape[1]:
            result[name] = torch.cat([narrow, narrow.new_zeros(len(narrow), wide.shape[1] - narrow.shape[1])], dim=1)
    return result


def evaluate(
    classifier: Classifier, part: IdxPart, *, progress: Callable[[int, int], None] = lambda done, total: None
) -> dict[str, Any]:
    """Scores of a part for a card: samples, accuracy, calibration, confusion matrix (rows the truth), share that is flagged.

    Args:
        progress: is told how many images have been answered, and of how many.

    Raises:
        ValueError: for a model whose classes are not the data set's.
    """
    if classifier.class_names != CLASSES:
        raise ValueError(f"{classifier.card['name']} answers in kinds of photographs: give a folder of photographs")
    parts = []
    for first in range(0, len(part), BATCH):
        parts.append(classifier.answers(classifier.enlarged(part.images[first : first + BATCH])))
        progress(min(first + BATCH, len(part)), len(part))
    strangeness = np.concatenate([one.strangeness for one in parts])
    return {
        "samples": len(part),
        **scores(np.concatenate([one.probabilities for one in parts]), part.labels),
        "strange": float(f"{(strangeness > classifier.threshold).mean():.4g}"),
    }


def scores(probabilities: Floats, labels: Labels) -> dict[str, Any]:
    """Accuracy, negative log-likelihood (nats), expected calibration error with its bins, and the confusion matrix.

    Args:
        probabilities: (n, classes). labels: (n,).
    """
    called = probabilities.argmax(axis=1)
    bins = reliability(probabilities.max(axis=1), called == labels, CALIBRATION_BINS)
    classes = probabilities.shape[1]
    confusion = np.bincount(classes * labels + called, minlength=classes**2).reshape(classes, classes)
    return {
        "accuracy": float(f"{(called == labels).mean():.6g}"),
        "negative_log_likelihood": float(f"{-np.log(probabilities[np.arange(len(labels)), labels]).mean():.5g}"),
        "calibration_error": float(f"{float(bins['gap'][0]):.4g}"),
        "reliability": {
            "confidence": [None if np.isnan(one) else round(float(one), 4) for one in bins["confidence"]],
            "accuracy": [None if np.isnan(one) else round(float(one), 4) for one in bins["accuracy"]],
            "count": [int(one) for one in bins["count"]],
        },
        "confusion": confusion.tolist(),
    }


KNOWN_SHARE = 0.99
"""Share of the validation images that must count as garments: what the strangeness threshold is set by."""
KNOWN = 20_000
"""Training images, at most, that class means and covariance are measured on."""


def train(
    run: TrainingRun, data: Path, garments: GarmentData, config: ViTConfig, training: ViTTraining, loop: LoopSettings
) -> Path:
    """Train and write the checkpoint and its card: calibrated on validation, tested once. Returns the card's path.

    Args:
        data: folder of the IDX files. garments: of their images.
    """
    teacher = training.teacher
    torch.manual_seed(training.seed)
    model = ViT(config)
    start_local(model)
    fresh = model.state_dict()
    before = begun(run, model, adapt=lambda weights: widened(weights, fresh))
    device = best_device()
    master = None if teacher is None else load_teacher(teacher, folder=run.folder).to(device)
    for network in (model, master) if training.compiled else ():
        if network is not None:
            network.compile(dynamic=False)
    task = ViTTask(garments, training, teacher=master)
    card: dict[str, Any] = {
        **trained(run, model, task, loop, training=training, config=config, before=before),
        **data_entries(data, garments),
        "classes": list(CLASSES),
        "teacher": None if teacher is None else teacher_entry(teacher, run.folder),
    }
    normalised = task.normalise(garments.validation_images)
    logits = answer(model, normalised).double().cpu().numpy()
    truth = garments.validation_labels.numpy()
    temperature = round(fit_temperature(logits, truth), 4)
    card["calibration"] = {"method": "temperature fitted on the validation images", "temperature": temperature}
    known = Familiarity.fit(
        features(model, task.normalise(garments.train_images[:KNOWN])), garments.train_labels[:KNOWN].numpy(), config.classes
    )
    distances = known.distance(features(model, normalised))
    threshold = round(float(np.quantile(distances, KNOWN_SHARE)), 4)
    card["strangeness"] = {
        "score": "Mahalanobis distance of the class token's features to the nearest class mean",
        "threshold": threshold,
        "slope": round(slope_of_typical(distances, threshold, 1 - KNOWN_SHARE), 4),
        "known_share": KNOWN_SHARE,
        "fitted_on": f"{min(KNOWN, len(garments.train_labels)):,} training images, unaugmented",
        **known.to_dict(),
    }
    card["metrics"]["validation"] |= scores(softmax(logits / temperature), truth)

    def test(checkpoint: checkpoints.Checkpoint) -> dict[str, Any]:
        part, classifier = read_part(data, "t10k"), Classifier(checkpoint)
        card["data"] += checkpoints.describe_files(file_paths(data, "t10k"))
        return {"test": evaluate(classifier, part)}

    return save(run, model, card, test)


def read_garments(folder: Path) -> GarmentData:
    """The training file's images, of which 5,000 are to validate on, or of few a tenth: every class gives as many."""
    part = read_part(folder, "train")
    return prepare(part, min(VALIDATION, max(10, len(part) // 100 * 10)))


def features(model: ViT, images: Tensor) -> Floats:
    """Features that the head reads of normalised images: (n, width)."""
    return np.asarray(in_batches(model, model.features, images).double().cpu().numpy())


def teacher_entry(name: str, folder: Path) -> dict[str, Any]:
    """Entry of a student's card about its teacher, whose weights are not shipped."""
    card = checkpoints.read_card(name, folder=folder)
    about = {key: card[key] for key in ("name", "command", "config", "parameters", "weights_sha256")}
    return about | {"validation_accuracy": card["metrics"]["validation"]["validation_accuracy"]}


def train_teacher(
    run: TrainingRun, data: Path, garments: GarmentData, config: TeacherConfig, training: ViTTraining, loop: LoopSettings
) -> Path:
    """Train the ViT's teacher on the same images, by the same split and loop; never reads the test images."""
    torch.manual_seed(training.seed)
    teacher = GarmentTeacher(config)
    teacher.lay_out_for_speed()
    if training.compiled:
        teacher.compile(dynamic=False)
    card = {
        **trained(run, teacher, ViTTask(garments, training), loop, training=training, config=teacher.config),
        **data_entries(data, garments),
        "classes": list(CLASSES),
    }
    return checkpoints.save(run.name, teacher, card, folder=run.folder)


def add_options(p: argparse.ArgumentParser) -> None:
    """Options of the ViT."""
    _add_common(p, name="vit", epochs=25)
    add_rows(
        p,
        ("patch", 4, "side of a patch, pixels"),
        ("width", 96, None),
        ("heads", 4, None),
        ("layers", 6, None),
        ("hidden", 192, "middle width of the feed-forward networks"),
        ("dropout", 0.0, None),
        ("soft", 0.8, "weight of the teacher's answers beside the labels"),
        ("temperature", 2.0, "of the teacher's answers"),
        ("teacher", str, "checkpoint of a teacher in the same folder, whose answers are imitated"),
        ("start", Path, "begin with the best weights of the run that kept its state here"),
    )
    p.add_argument("--hints", type=float, choices=(0,), help=argparse.SUPPRESS)  # the shipped card's command says 0
    add_test(p, part="the test images")


def add_teacher_options(p: argparse.ArgumentParser) -> None:
    """Options of the ViT's teacher."""
    _add_common(p, name="vit-teacher", epochs=10)
    add_rows(p, ("stem", TeacherConfig.stem, "channels at 28 x 28"))
    p.add_argument("--stages", type=int, nargs=3, default=TeacherConfig.stages, help="channels at 14 x 14, 7 x 7 and 4 x 4")


def _add_common(p: argparse.ArgumentParser, *, name: str, epochs: int) -> None:
    """Options that the student and the teacher share."""
    p.add_argument("--data", required=True, type=Path, metavar="DIR", help="folder of the IDX files; fetched where missing")
    add_run(p, name=name, rate=1e-3, weight_decay=0.05, ema=0.999, warmup=800)
    add_rows(
        p,
        ("epochs", epochs, None),
        ("batch", 128, None),
        ("smoothing", 0.1, "label smoothing"),
        ("shift", 2, "largest move of a training image, pixels"),
        ("warp", 0.5, "share of the images that are also turned, stretched and sheared"),
    )
    text = "compile the step (torch.compile); on a GPU if left out"
    p.add_argument("--compile", action=argparse.BooleanOptionalAction, default=None, help=text)


def _common(o: argparse.Namespace, parts: tuple[str, ...]) -> tuple[TrainingRun, GarmentData, ViTTraining, LoopSettings]:
    """The run, the images of the parts that it needs, and its settings."""
    for part in parts:
        fetch_missing(o.data, part)
    garments, on_gpu = read_garments(o.data), best_device().type == "cuda"
    loop = loop_of(o, steps=len(garments.train_labels) // o.batch, bf16=on_gpu)
    o.compiled = on_gpu if o.compile is None else o.compile
    return run_of(o, loop), garments, from_options(ViTTraining, o, augmentation=from_options(Augmentation, o)), loop


def _run(o: argparse.Namespace) -> Path:
    run, garments, training, loop = _common(o, ("train", "t10k") if o.test else ("train",))
    return train(run, o.data, garments, from_options(ViTConfig, o, start="local"), training, loop)


def _run_teacher(o: argparse.Namespace) -> Path:
    run, garments, training, loop = _common(o, ("train",))
    return train_teacher(run, o.data, garments, from_options(TeacherConfig, o), training, loop)


RECIPES = {
    "vit": TrainingRecipe(add_options=add_options, run=_run),
    "vit-teacher": TrainingRecipe(add_options=add_teacher_options, run=_run_teacher),
}
