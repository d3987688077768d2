"""From frames to glosses: following, abstaining without a hand, and the rolling window, on a finder that sees bright squares."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from core import checkpoints
from core.models.iiga import IIGA, IIGAConfig
from core.signs.decoding import greedy
from core.signs.hands import tracks
from core.signs.hands.regions import Region
from core.signs.hands.tracker import LANDMARKS, TILES, Hand, HandTracker, Window
from core.signs.live_reading import WINDOW, LiveReader
from core.signs.recogniser import HANDS, PROBED, Recogniser, load_recogniser, silenced
from tests.core.signs.hands.stub import SHAPE, SquareFinder, film
from tests.core.signs.tiny import COMMON

FISTS = Path(__file__).resolve().parents[3] / "fixtures" / "signs" / "fists.parquet"
"""Forty hands, of letters that are fists or might hold something."""


@pytest.fixture(scope="module")
def recogniser(tmp_path_factory: pytest.TempPathFactory) -> Recogniser:
    """A small model of landmarks that says "1" of every frame."""
    config = IIGAConfig(front="tracks", vocabulary=3, width=16, heads=2, layers=1, track_features=tracks.FEATURES)
    torch.manual_seed(0)
    model = IIGA(config)
    with torch.no_grad():
        model.decoder.weight.zero_()
        model.decoder.bias.copy_(torch.tensor([0.0, 4.0, 0.0]))
    card = {**COMMON, "config": config.to_dict(), "vocabulary": ["1", "2"], "fps": 10.0, "film_side": 64, "landmarks": 42}
    folder: Path = tmp_path_factory.mktemp("hands")
    checkpoints.save("small", model, card, folder=folder)
    found = Recogniser(checkpoints.load("small", folder=folder))
    found._finder = SquareFinder()
    return found


def test_a_hand_that_is_followed_is_not_sought_again() -> None:
    finder = SquareFinder()
    tracker = HandTracker(finder, most=1)
    seen = [len(tracker.step(frame)) for frame in film([False, True, True, True, False, True])]
    assert seen == [0, 1, 1, 1, 0, 1]
    assert finder.searched == 2  # the two frames without a hand: after them it is where it was, or fills the frame


def test_after_two_seconds_without_a_hand_a_film_is_searched_less_and_its_hand_is_found_three_frames_late_at_most() -> None:
    finder = SquareFinder()
    assert not tracks.follow(finder, film([False] * 48)).visible.any()
    assert finder.searched == tracks.PATIENCE + (48 - tracks.PATIENCE) // 4
    for empty in (tracks.PATIENCE - 1, tracks.PATIENCE + 2, 33):
        shown = [False] * empty + [True] * 12
        late = int(tracks.follow(SquareFinder(), film(shown)).visible.argmax()) - empty
        assert late == (0 if empty < tracks.PATIENCE else -empty % 4), empty


def test_a_frame_without_a_hand_and_without_one_beside_it_is_the_blank() -> None:
    log_probabilities = np.log(np.full((5, 3), [0.1, 0.8, 0.1], np.float32))
    found = silenced(log_probabilities, np.array([True, False, False, False, False]))
    assert found.argmax(axis=1).tolist() == [1, 1, 0, 0, 0]
    assert found[:2] == pytest.approx(log_probabilities[:2])
    assert np.exp(found[2:]).sum(axis=1) == pytest.approx(1, abs=1e-6)


def test_a_film_without_hands_gets_no_gloss(recogniser: Recogniser) -> None:
    assert recogniser.front == "frames" and recogniser.image_size == 64
    assert recogniser.answer(film([False] * 8)).greedy == ()
    answer = recogniser.answer(film([False] * 4 + [True] * 4 + [False] * 4))
    assert answer.greedy == ("1",)
    assert answer.hands is not None and answer.hands.visible.tolist() == [False] * 4 + [True] * 4 + [False] * 4
    assert answer.log_probabilities.argmax(axis=1).tolist() == [0] * 3 + [1] * 6 + [0] * 3
    assert set(answer.attention) == {"intra 1", "inter 1"}


def test_hands_of_a_film_are_sought_once_frame_by_frame_until_somebody_stops_it(recogniser: Recogniser) -> None:
    one, other = film([True, False, True]), film([False, True, True])
    told: list[int] = []

    def stop(done: int) -> None:
        raise InterruptedError(done)

    with pytest.raises(InterruptedError):
        recogniser.hands(one, on_frame=stop)
    assert recogniser.hands(one, on_frame=told.append).visible.tolist() == [True, False, True]
    recogniser.hands(other, on_frame=told.append)
    recogniser.hands(one, on_frame=told.append)
    assert told == [1, 2, 3] * 2


class FarFinder(SquareFinder):
    """Sees the square as a palm in tiles alone."""

    def find(self, picture: Any, *, most: int = 1, windows: Iterable[Window] = ()) -> list[Hand]:
        return super().find(picture) if set(TILES) & set(windows) else []

    def landmarks(self, picture: Any, region: Region) -> Hand | None:
        return None


def test_a_small_hand_is_sought_where_some_frames_show_one(recogniser: Recogniser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recogniser, "_finder", finder := FarFinder())
    told: list[int] = []
    far = film([True] * 64)
    far[:, 0, 0] = 7  # another film than those of the other tests
    assert recogniser.hands(far, on_frame=told.append).visible.all()
    assert told == [*range(1, 65)] * 2
    told.clear()
    finder.searched = 0
    none = film([False] * 64)
    assert not recogniser.hands(none, on_frame=told.append).visible.any()
    assert told == [*range(1, 65)] and finder.searched == PROBED


def test_landmarks_live_are_shares_of_the_picture(recogniser: Recogniser) -> None:
    reading = LiveReader(recogniser, SquareFinder()).step(film([True])[0])
    assert reading.hands[0][0] == pytest.approx((np.array([27.5, 31.5]) + SHAPE[0] * 11.5) / 64, abs=1e-5)
    assert reading.now == "1" and reading.probability == pytest.approx(np.exp(4) / (np.exp(4) + 2), rel=1e-4)
    assert reading.attention.sum() == pytest.approx(1, abs=1e-5)


def test_a_rolling_window_says_what_the_whole_film_says(recogniser: Recogniser) -> None:
    """More glosses than a window holds: none is lost as its frames leave, none is said twice, and places stay."""
    shown = ([True] * 5 + [False] * 5) * 12
    reader = LiveReader(recogniser, SquareFinder())
    said: list[int] = []
    for frame in film(shown):
        reading = reader.step(frame)
        said.append(len(reading.glosses))
        assert len(reading.attention) <= WINDOW
    whole = recogniser.log_probabilities(film(shown))
    assert [one.gloss for one in reading.glosses] == recogniser.vocabulary.decode(greedy(whole)) == ["1"] * 12
    assert said == sorted(said)
    assert [(one.first, one.last) for one in reading.glosses] == [(max(0, 10 * place - 1), 10 * place + 5) for place in range(12)]


def test_a_long_hold_is_one_gloss_from_where_it_began(recogniser: Recogniser) -> None:
    reader = LiveReader(recogniser, SquareFinder())
    for frame in film([False] * 3 + [True] * (WINDOW + 30)):
        reading = reader.step(frame)
    assert [(one.gloss, one.first, one.last) for one in reading.glosses] == [("1", 2, WINDOW + 32)]


def test_hands_that_rest_or_type_get_no_gloss() -> None:
    """One or two hands of letters that are fists or might hold something, which drift, tremble or type over four seconds."""
    recogniser, random = load_recogniser(HANDS), np.random.default_rng(9)
    shapes = np.stack(pd.read_parquet(FISTS)["points"].to_list()).reshape(-1, LANDMARKS, 2).astype(np.float32)
    said = []
    for film_number in range(30):
        places = np.cumsum(random.normal(0, 2, (40, tracks.HANDS, 1, 2)), axis=0) + np.array([[[0, 0]], [[150, 0]]])
        points = (
            45 * shapes[random.integers(len(shapes), size=tracks.HANDS)] + 200 + places + random.normal(0, 1.5, (40, 2, 21, 2))
        )
        if film_number % 3 == 2:
            points[:, :, 8:21:4] += 8 * np.sin(np.arange(40) * random.uniform(0.5, 2))[:, None, None, None]
        seen = np.ones((40, tracks.HANDS), np.bool_)
        seen[:, 1] = film_number % 2
        points *= seen[:, :, None, None]
        hands = tracks.HandTracks(points=points.astype(np.float32), seen=seen)
        encoded = recogniser.encode(recogniser.landmark_inputs(hands))
        said.append(recogniser.answer_of_encoded(encoded, None, began=0.0, hands=hands).greedy)
    assert sum(map(bool, said)) <= 2, said  # the weights before these: 8
