"""The CCT's training: what its batches hold, what it minimises, and a small run from files to a card that answers photographs."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from core.cli import main
from core.models.cct import CCT, CCTConfig
from core.runs.history import run_from_card
from core.scores import softmax
from core.training.loop import LoopSettings, fit
from core.vision.classifier import load_classifier
from core.vision.photographs import KINDS, photographs
from core.vision.pictures import decode, png
from core.vision.preprocessing import PHOTOGRAPH
from core.vision.preprocessing import prepare as prepare_picture
from lab.training.augment import PhotographAugmentation, photograph_views
from lab.training.cct import (
    CLASSES_OF_OTHER_KIND,
    EARLY,
    NONE,
    SQUARE,
    Lessons,
    MixedTask,
    MixedTraining,
    OtherThings,
    Photographs,
    Pupil,
    invented,
    strangeness,
)
from lab.training.garment_photographs import drawn_thing, read_others, read_photographs
from tests.core.vision.test_photographs import PHOTOS, write

DIMENSIONS = ("side", "width", "heads", "layers", "hidden")
SIDE = 32
NAMES = list(KINDS.values())
UPRIGHT = torch.zeros(5, dtype=torch.bool)
SMALL = CCTConfig(side=SIDE, width=16, heads=2, layers=1, hidden=16, stem=4, stages=(4, 4, 4, 4, 4), repeats=(1, 1, 1, 1, 1))


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(3)


@pytest.fixture(scope="module")
def real() -> Photographs:
    return read_photographs([PHOTOS / "validation.parquet"], SIDE)


def task(real: Photographs, *, others: int = 4) -> MixedTask:
    nothing = torch.randint(256, (others, 3, SQUARE, SQUARE), generator=generator(), dtype=torch.uint8)
    training = MixedTraining(photographs=5, others=4)
    return MixedTask(
        real, real, OtherThings(train=nothing, validation=nothing[..., :SIDE, :SIDE], drawn=drawn_thing), training, steps=3
    )


# -- data ---------------------------------------------------------------------------------------------------------------------


def test_a_target_is_the_class_of_the_kind(real: Photographs) -> None:
    assert (real.images.shape, real.prepared.shape) == ((10, 3, SQUARE, SQUARE), (10, 3, SIDE, SIDE))
    assert real.images.dtype == real.prepared.dtype == torch.uint8
    for target, row in zip(real.targets, photographs(PHOTOS / "validation.parquet"), strict=True):
        assert target.nonzero()[:, 0].tolist() == [NAMES.index(KINDS[row.kind])]


def test_other_kinds_have_a_rule_of_their_own_or_are_left_out(tmp_path: Path) -> None:
    assert not set(CLASSES_OF_OTHER_KIND) & set(KINDS)
    data = png(np.full((30, 20), 9, np.uint8))
    write(tmp_path / "more.parquet", [{"file": kind, "kind": kind, "jpeg": data} for kind in ("Hoodie", "Other", "Shorts")])
    found = read_photographs([tmp_path / "more.parquet"], SIDE)
    assert [{NAMES[i] for i in row.nonzero()[:, 0]} for row in found.targets] == [{"Long sleeve", "Coat or jacket"}, {"Shorts"}]


def test_every_fifth_picture_of_no_garment_is_held_out_or_what_a_manifest_says(tmp_path: Path) -> None:
    levels = [png(np.full((8, 8), 20 * i, np.uint8)) for i in range(10)]
    write(tmp_path / "things.parquet", [{"jpeg": data} for data in levels])
    found = read_others([tmp_path / "things.parquet"], SIDE)
    assert [round(float(one.float().mean())) for one in found.validation] == [0, 100]
    assert len(found.train) == 8
    folder = tmp_path / "hands"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.png").write_bytes(levels[1])
    (folder / "manifest.csv").write_text("path,split\na.png,train\nb.png,dev\n")
    found = read_others([folder], SIDE)
    assert (len(found.train), len(found.validation)) == (1, 1)


def test_what_is_drawn_is_a_picture_and_no_plain_ground() -> None:
    drawn = invented(24, generator(), drawn_thing)
    assert drawn.shape == (24, 3, SQUARE, SQUARE) and float(drawn.min()) >= 0 and float(drawn.max()) <= 1
    assert (drawn.flatten(1).std(dim=1) > 0.01).all()


# -- changes to photographs ---------------------------------------------------------------------------------------------------

STILL = PhotographAugmentation(
    degrees=0, right_angles=0, nearest=1, farthest=1, shift=0, stretch=0, shear=0, tilt=0, gamma=0, contrast=(1, 1),
    brightness=0, invert=0, erase=0,
)  # fmt: skip


@pytest.mark.parametrize(("right_angles", "turns"), [(0.0, (0,)), (1.0, (1, 2, 3))])
def test_a_photograph_stays_but_for_its_mirror_and_torchs_right_angles(right_angles: float, turns: tuple[int, ...]) -> None:
    images = torch.rand(60, 1, 28, 28, generator=generator()).clamp(0.01, 1)
    seen, mirrored = photograph_views(images, replace(STILL, right_angles=right_angles), 28, generator()), 0
    for one, image in zip(seen, images, strict=True):
        ways = [[torch.rot90(other, k, dims=(-2, -1)) for k in turns] for other in (image, image.flip(-1))]
        straight, flipped = (any(torch.allclose(one, way, atol=1e-4 if turns == (0,) else 1e-3) for way in some) for some in ways)
        assert straight != flipped
        mirrored += flipped
    assert 8 < mirrored < 52


# -- the task -----------------------------------------------------------------------------------------------------------------


def test_a_batch_holds_what_the_settings_say_and_repeats(real: Photographs) -> None:
    first, again, other = (list(task(real).batches(epoch)) for epoch in (0, 0, 1))
    assert len(first) == 3
    for (images, right, _), (same, *_), (different, *_) in zip(first, again, other, strict=True):
        assert images.shape == (9, 3, SIDE, SIDE) and right.shape == (9, NONE + 1)
        assert right.any(dim=1).all() and right[-4:, NONE].all() and not right[-4:, :NONE].any()
        torch.testing.assert_close(images, same)
        assert not torch.equal(images, different)
    (images, right, _), *_ = task(real, others=0).batches(0)
    assert len(images) == len(right) == 5 + 2  # without pictures of other things, only invented ones


def test_the_loss_is_torchs_cross_entropy_and_probabilities_of_several_right_outputs_are_summed(real: Photographs) -> None:
    torch.manual_seed(0)
    model = CCT(SMALL).eval()
    images, labels = torch.randn(12, 3, SIDE, SIDE), torch.arange(12) % (NONE + 1)
    outputs = model.logits_with_rejection(model.features(images))
    expected = F.cross_entropy(outputs, labels, label_smoothing=0.05)
    right = F.one_hot(labels, NONE + 1).bool()
    torch.testing.assert_close(task(real).loss(model, (images, right, UPRIGHT)), expected, atol=1e-5, rtol=1e-5)
    right[0] = False
    right[0, [2, 6]] = True
    p = outputs[0].softmax(dim=0)
    expected = -(0.95 * (p[2] + p[6]).log() + 0.05 * p.log().mean())
    torch.testing.assert_close(task(real).loss(model, (images[:1], right[:1], UPRIGHT)), expected, atol=1e-5, rtol=1e-5)


def test_a_pupil_also_imitates_its_teacher_on_the_photographs(real: Photographs) -> None:
    """By PyTorch's own losses, on the first rows; an output of its own says which are turned."""
    torch.manual_seed(0)
    lessons = Lessons(shares=torch.rand(10, 3).softmax(dim=1), features=torch.randn(10, 4))
    one = task(real)
    one.lessons, one.training = lessons, replace(one.training, turned=0.5, soft=0.7, hints=0.3, turning=0.2)
    pupil = Pupil(CCT(replace(SMALL, turns=True)), lessons).eval()
    batch = next(one.batches(0))
    images, right, lies, shares, matched = batch
    assert lies.any() and not lies.all()
    without = CCT(SMALL).eval()
    without.load_state_dict(pupil.cct.state_dict(), strict=False)
    plain = task(real).loss(without, (images, right, lies))
    tokens = pupil.cct.features(images)[:5]
    assert pupil.cct.lying is not None
    expected = plain + 0.2 * F.binary_cross_entropy(pupil.cct.lying(tokens)[:, 0].sigmoid(), lies.float())
    expected = expected + 0.7 * F.cross_entropy(pupil.kinds(tokens), shares) + 0.3 * F.mse_loss(pupil.features(tokens), matched)
    torch.testing.assert_close(one.loss(pupil, batch), expected, atol=1e-4, rtol=1e-4)


def test_strangeness_is_the_odds_of_the_last_output() -> None:
    outputs = np.random.default_rng(0).normal(size=(5, NONE + 1))
    p = softmax(outputs)[:, -1]
    np.testing.assert_allclose(strangeness(outputs), np.log(p / (1 - p)), atol=1e-9)


def test_the_first_convolutions_stay_as_they_are_and_the_others_learn_more_slowly(real: Photographs) -> None:
    torch.manual_seed(0)
    model, one = CCT(replace(SMALL, repeats=(1, 2, 2, 2, 1))), task(real)
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    settings = LoopSettings(epochs=1, steps_per_epoch=3, peak_rate=1e-3, warmup=0)
    fit(model, one, settings, device=torch.device("cpu"), rates=one.rates)
    moved = {name: float((value.detach() - before[name]).abs().max()) for name, value in model.named_parameters()}
    early = [name for name in moved if "stem" in name or any(f"blocks.{index}." in name for index in range(EARLY))]
    later = [name for name in moved if name.startswith("convolutions.") and name not in early]
    assert len(early) == 2 + 4 + 4 * 6 and not any(moved[name] for name in early)
    assert 0 < max(moved[name] for name in later) < 1.5e-3 < moved["head.bias"] * 1.5


# -- from files to a card -----------------------------------------------------------------------------------------------------


def test_the_command_trains_and_its_card_answers_photographs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    some = [{"file": one.file, "kind": one.kind, "jpeg": one.data} for one in photographs(PHOTOS / "validation.parquet")][:3]
    for name in ("train", "validation"):
        write(photos / f"{name}.parquet", some)
    common = ["train", "cct", "--data", str(photos), "--folder", str(tmp_path), "--steps", "2", "--photos", "4"]
    common += [text for name, value in SMALL.to_dict().items() for text in (f"--{name}", str(value)) if name in DIMENSIONS]
    assert main([*common, "--epochs", "1", "--name", "first"]) == 0
    assert main([*common, "--epochs", "1", "--name", "second", "--start", str(tmp_path / "first.json")]) == 0
    card = json.loads((tmp_path / "second.json").read_text())
    assert card["started_from"]["metrics"] and str(tmp_path) not in json.dumps(card)
    assert card["photographs"] == {"trained_on": 3, "validated_on": 3, "other_things": 0, "other_things_held_out": 0}
    assert card["metrics"]["photographs"]["samples"] == 3 and len(run_from_card(card).epochs) == 2
    capsys.readouterr()
    scored = ["evaluate", "vit", "--data", str(photos), "--folder", str(tmp_path), "--checkpoint", "second", "--json"]
    assert main([*scored, "--split", "validation"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {key: printed[key] for key in card["metrics"]["photographs"]} == card["metrics"]["photographs"]
    classifier = load_classifier("second", folder=tmp_path)
    assert classifier.model.rejection is not None and classifier.manner == "photograph"
    row = next(photographs(PHOTOS / "validation.parquet"))
    image = prepare_picture(decode(row.data), PHOTOGRAPH, side=SIDE).image
    assert image.shape == (SIDE, SIDE, 3)
    outputs = classifier.model.logits_with_rejection(classifier.model.features(classifier.normalise(image[None])))  # type: ignore[operator]
    p = float(outputs.detach().softmax(dim=1)[0, -1])
    assert 1 / (1 + np.exp(-classifier.strangeness(image[None])[0])) == pytest.approx(p, abs=1e-5)
