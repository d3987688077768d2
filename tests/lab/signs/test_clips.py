"""The generator of clips: the same for the same seed, and what its labels say is what its frames show."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from lab.signs.clips import BETWEEN, PLAIN, SCORING, TRAINING, Variety, framed, make_clips, make_stills, sentences
from lab.signs.photo_set import SIDE, Layers, PhotoSet, separate
from lab.signs.photos import read_photos
from lab.signs.render import Hands, Studio, Views

FOLDER = Path(__file__).parents[2] / "fixtures" / "signs" / "digits"
PHOTOS = read_photos(FOLDER)
STUDIO = Studio(PHOTOS, separate(PHOTOS.images), size=48)


def test_photos_are_those_of_the_manifest() -> None:
    assert len(PHOTOS) == 16
    assert sorted(set(PHOTOS.digits)) == [0, 1, 5, 7]
    assert len(read_photos(FOLDER, "dev")) == 4
    assert PHOTOS.images.shape == (16, SIDE, SIDE, 3)
    with pytest.raises(ValueError, match="no photo of the split 'test': it has dev, train"):
        read_photos(FOLDER, "test")
    with pytest.raises(ValueError, match="holds no manifest.csv"):
        read_photos(FOLDER.parent)


def test_a_missing_or_damaged_photo_is_named(tmp_path: Path) -> None:
    (tmp_path / "manifest.csv").write_text("digit,path,run_id\n3,a.jpg,0\n")
    with pytest.raises(ValueError, match="the photo a.jpg, which manifest.csv names, is not there"):
        read_photos(tmp_path)
    (tmp_path / "a.jpg").write_bytes(b"no picture")
    with pytest.raises(ValueError, match="the photo a.jpg is damaged or no picture"):
        read_photos(tmp_path)
    (tmp_path / "manifest.csv").write_text("digit,path\n3,a.jpg\n")
    with pytest.raises(ValueError, match="lacks the columns run_id"):
        read_photos(tmp_path)


@pytest.mark.parametrize("variety", [SCORING, PLAIN, TRAINING])
def test_the_same_seed_gives_the_same_clips(variety: Variety) -> None:
    one, two, other = (next(make_clips(STUDIO, 1, seed=seed, variety=variety)) for seed in (5, 5, 6))
    np.testing.assert_array_equal(one.frames, two.frames)
    assert one.digits == two.digits != other.digits


def test_a_clip_is_of_one_signer_and_its_labels_spell_it() -> None:
    chosen = sentences(PHOTOS, 12, seed=1)
    for clip, photos in zip(make_clips(STUDIO, 12, seed=1, variety=SCORING), chosen, strict=True):
        assert 3 <= len(clip.digits) <= 8 and len(set(PHOTOS.signers[photos])) == 1
        assert clip.frames.shape == (len(clip.labels), 48, 48, 3) and clip.frames.dtype == np.uint8
        assert clip.digits == PHOTOS.digits[photos].tolist()
        held = [len(run) for run in np.split(clip.labels, np.flatnonzero(np.diff(clip.labels)) + 1) if run[0] != BETWEEN]
        assert all(SCORING.hold[0] <= length <= SCORING.hold[1] for length in held)
        spelt = [int(b) for a, b in zip([BETWEEN, *clip.labels], clip.labels, strict=False) if b not in (BETWEEN, a)]
        assert spelt == clip.digits  # as CTC would read them: the same digit twice has something between


def test_signers_come_as_often_as_they_have_photos() -> None:
    found = [PHOTOS.signers[photos[0]] for photos in sentences(PHOTOS, 400, seed=0)]
    counts = np.array([found.count(int(signer)) for signer in np.unique(PHOTOS.signers)])
    assert counts.min() > 60  # 100 each are expected
    with pytest.raises(ValueError, match="there are none"):
        sentences(PHOTOS.of(np.array([-5])), 1, seed=0)


def test_hands_are_told_from_walls() -> None:
    layers = separate(PHOTOS.images)
    covered = layers.hands.mean(axis=(1, 2))
    assert ((covered > 0.08) & (covered < 0.6)).all()
    top = layers.hands[:, :5].mean(axis=(1, 2))
    assert (top < 0.1).all()  # no hand reaches the upper edge here
    wall = np.abs(layers.backgrounds - PHOTOS.images / 255)[layers.hands < 0.05]
    assert wall.mean() < 0.05


def test_an_untouched_photo_is_drawn_as_it_is() -> None:
    studio = Studio(PHOTOS, separate(PHOTOS.images), size=SIDE)
    one = np.ones(1, np.float32)
    zero = np.zeros(1, np.float32)
    hands = Hands(
        photo=np.array([3]), weight=one, place=np.zeros((1, 2), np.float32), scale=one, turn=zero, shear=zero, mirrored=one
    )
    views = Views(
        background=np.zeros((1, SIDE, SIDE, 3), np.float32), whole=one, gain=np.ones((1, 3), np.float32), brightness=zero,
        contrast=one, gamma=one, slope=np.zeros((1, 2), np.float32), noise=zero, coarse=one, grey=zero,
    )  # fmt: skip
    frame = studio.draw([hands], views, np.zeros(1, np.int64), seed=0)[0]
    assert np.abs(frame.astype(int) - PHOTOS.images[3]).max() <= 1
    hands.mirrored = -one
    mirrored = studio.draw([hands], views, np.zeros(1, np.int64), seed=0)[0]
    assert np.abs(mirrored.astype(int) - PHOTOS.images[3][:, ::-1]).max() <= 1
    hands.mirrored, hands.place = one, np.array([[0.1, 0.0]], np.float32)
    moved = studio.draw([hands], views, np.zeros(1, np.int64), seed=0)[0]
    assert np.abs(moved[:, 10:].astype(int) - PHOTOS.images[3][:, :-10]).max() <= 1


def test_stills_say_what_they_show() -> None:
    chosen = np.arange(len(PHOTOS))
    frames, labels = make_stills(STUDIO, chosen, SCORING, seed=3, empty=0.0)
    np.testing.assert_array_equal(labels, PHOTOS.digits)
    assert frames.shape == (16, 48, 48, 3)
    _, labels = make_stills(STUDIO, np.tile(chosen, 20), TRAINING, seed=3, empty=0.5)
    assert 0.3 < (labels == BETWEEN).mean() < 0.6


def square_photos() -> PhotoSet:
    """A dark square, half as wide as the photo, in the middle of a pale wall; ten digits that all look alike."""
    image = np.full((SIDE, SIDE, 3), 220, np.uint8)
    image[SIDE // 4 : 3 * SIDE // 4, SIDE // 4 : 3 * SIDE // 4] = 20
    return PhotoSet(images=np.repeat(image[None], 10, axis=0), digits=np.arange(10), signers=np.zeros(10, np.int64))


@pytest.mark.parametrize("side", [1.0, 0.45])
def test_a_framed_hand_has_its_size_and_lies_anywhere(side: float) -> None:
    photos = square_photos()
    layers = Layers(hands=np.ones((10, SIDE, SIDE), np.float32), backgrounds=np.full((10, SIDE, SIDE, 3), 0.86, np.float32))
    studio = Studio(photos, layers, size=64)
    plain = dataclasses.replace(SCORING, light=0.0, sway=0.0)
    areas, places = [], []
    for clip in make_clips(studio, 24, seed=3, variety=framed(plain, side=side, tilt=0)):
        dark = clip.frames[clip.labels != BETWEEN].mean(axis=-1) < 120
        areas += dark.mean(axis=(1, 2)).tolist()
        places += [np.argwhere(frame).mean(axis=0) / 64 for frame in dark]
    # each photo's size varies by 4 % (one standard deviation) of its own
    assert np.median(areas) == pytest.approx((0.5 * side) ** 2, rel=0.08)
    assert max(areas) < 1.5 * (0.5 * side) ** 2 and min(areas) > 0.6 * (0.5 * side) ** 2  # never cut off at an edge
    low, high = np.min(places, axis=0), np.max(places, axis=0)
    room = (1 - side) / 2
    assert (low >= 0.5 - room - 0.03).all() and (high <= 0.5 + room + 0.03).all()
    assert (high - low >= 1.2 * room).all()


def test_framing_refuses_what_is_no_share_or_angle() -> None:
    for arguments, words in (({"side": 0.0}, "0.1 to 1, not 0"), ({"side": 2.0}, "not 2"), ({"tilt": -1.0}, "0 to 180, not -1")):
        with pytest.raises(ValueError, match=words):
            framed(SCORING, **arguments)
    assert framed(SCORING) == SCORING
    assert framed(SCORING, tilt=30).turn == 30
