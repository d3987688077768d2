"""Letters: features that know no place, size or mirror, files of hands, scores, a trie's beam, and streams to learn from."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from core.__main__ import main
from core.models.iiga import IIGA, IIGAConfig
from core.signs import letters, lexicon, spelling
from core.signs.examples import DIFFERS, examples, finger_distances, fingers_that_differ
from core.signs.letters import LETTERS, VOCABULARY
from core.signs.lexicon import Lexicon, bundled, spelled
from core.signs.live_spelling import spaced
from core.signs.recogniser import LETTERS as MODEL
from core.signs.recogniser import load_recogniser
from core.training.iiga_letters import (
    LetterMaterial,
    LettersTask,
    LettersTraining,
    LetterVariety,
    bent,
    normalised,
    rotations,
    seen_anew,
)

RANDOM = np.random.default_rng(3)


def test_features_know_neither_place_nor_size_and_distances_no_mirror_or_turn() -> None:
    hand = RANDOM.normal(0, 1, (4, 21, 2)).astype(np.float32)
    assert np.allclose(letters.hand_features(hand * 7 + 100), letters.hand_features(hand), atol=1e-4)
    turned = hand @ np.array([[0.6, 0.8], [-0.8, 0.6]], np.float32) * np.array([-1, 1], np.float32)
    pairs = slice(42, 42 + len(letters.PAIRS[0]))
    assert np.allclose(letters.hand_features(turned)[:, pairs], letters.hand_features(hand)[:, pairs], atol=1e-4)
    film = letters.features(np.stack([hand[0], hand[0] + 0.5]), np.array([True, True]))
    assert film.shape == (2, letters.FEATURES)
    assert film[0, -3:].tolist() == [0, 0, 1] and (film[1, -3:-1] > 0).all()
    assert not letters.features(hand[:1], np.array([False])).any()


@pytest.mark.parametrize("quarters", range(4))
def test_a_file_on_its_side_is_set_upright(quarters: int) -> None:
    hands = spelling.bundled_hands().points[..., :2]
    quarter = np.array([[0, 1], [-1, 0]], np.float32)  # right becomes down
    turned, found = letters.set_upright(hands @ np.linalg.matrix_power(quarter, quarters))
    assert found == quarters and np.allclose(turned, hands, atol=1e-5)


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"points": np.zeros((2, 20, 2)), "letter": np.array(["A", "B"])}, "points of shape (n, 21, 2 or 3)"),
        ({"points": np.ones((1, 21, 2)), "letter": np.array(["?"])}, "letters that are not A to Z"),
        ({"points": np.full((1, 21, 2), np.nan), "letter": np.array(["A"])}, "no number"),
        ({"points": np.ones((1, 21, 2))}, "arrays points and letter"),
    ],
)
def test_a_file_that_holds_no_hands_gets_a_sentence(tmp_path: Path, arrays: dict[str, np.ndarray], sentence: str) -> None:
    np.savez(tmp_path / "hands.npz", **arrays)
    with pytest.raises(ValueError, match=sentence.replace("(", r"\(").replace(")", r"\)").replace("?", r"\?")):
        letters.read_hands(tmp_path / "hands.npz")


def test_words_are_scored_by_the_sum_of_their_letters() -> None:
    log_probabilities = np.log(RANDOM.dirichlet(np.ones(26), 3))
    scores = letters.word_scores(log_probabilities, ["CAT", "DOG", "LONGER"])
    assert scores.keys() == {"CAT", "DOG"}
    assert scores["CAT"] == pytest.approx(log_probabilities[0, 2] + log_probabilities[1, 0] + log_probabilities[2, 19])


def test_the_beam_over_a_trie_finds_what_ctc_says_of_each_word() -> None:
    listed = ["A", "AB", "ABBA", "BAB", "BABA", "CAB"]
    table = np.log(RANDOM.dirichlet(np.ones(27) * 0.3, 9))
    table[:, 4:] = -60.0
    log_probabilities = table - np.logaddexp.reduce(table, axis=1, keepdims=True)
    lengths = torch.tensor([9])

    def loss(word: str) -> float:
        target = torch.tensor([VOCABULARY.encode(word)])
        frames = torch.from_numpy(log_probabilities)[:, None]
        return float(F.ctc_loss(frames, target, lengths, torch.tensor([len(word)]), reduction="sum"))

    wanted = {word: np.exp(-loss(word)) / rank**lexicon.COMMON for rank, word in enumerate(listed, start=1)}
    guesses = Lexicon(listed).guesses(log_probabilities, most=6)
    assert {one.word: one.probability for one in guesses} == pytest.approx(
        {word: value / sum(wanted.values()) for word, value in wanted.items()}, rel=1e-6
    )


def test_words_are_spelled_without_accents_and_lists_hold_nothing_else(tmp_path: Path) -> None:
    assert [spelled(one) for one in ("corazón", "Ñandú", "x-ray", "")] == ["CORAZON", "NANDU", "", ""]
    (tmp_path / "own.txt").write_text("año\nno way\nÁRBOL\nárbol\n", encoding="utf-8")
    assert lexicon.read_words(tmp_path / "own.txt") == ["ANO", "ARBOL"]
    (tmp_path / "own.txt").write_text("12\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no word of the letters A to Z"):
        lexicon.read_words(tmp_path / "own.txt")
    for language in lexicon.LANGUAGES:
        assert len(bundled(language)) == 12_000 and all(set(word) <= set(LETTERS) for word in bundled(language))


def test_views_turn_hands_as_a_rotation_does() -> None:
    hands = normalised(RANDOM.normal(0, 1, (5, 21, 3)))
    turn = rotations(*RANDOM.normal(0, 1, (3, 5)))
    assert np.allclose(turn @ turn.transpose(0, 2, 1), np.eye(3), atol=1e-6)
    plain = LetterVariety(turn=0, roll=0, stretch=0, shear=0, perspective=0)
    seen = seen_anew(hands, np.zeros(5, int), plain, np.random.default_rng(0))
    assert np.allclose(np.abs(seen), np.abs(hands[..., :2]), atol=1e-6)
    assert np.allclose(bent(hands, 0.0, RANDOM), hands, atol=1e-5)


def test_streams_hold_their_letters_and_part_doubled_ones() -> None:
    hands = spelling.bundled_hands()
    how = LettersTraining(streams=12, stills=26, doubled=0.5, lost=0, seed=1, steps=1)
    task = LettersTask([hands], hands.points[:3], how)
    stills, drawn, x, lengths, labels, targets, counts = next(iter(task.batches(0)))
    assert stills.shape == (13, 1, letters.FEATURES) and drawn.min() >= 1
    for row, length, target in zip(labels, lengths.tolist(), targets.split(counts.tolist()), strict=True):
        collapsed = [label for label, _ in itertools.groupby(row[:length].tolist()) if label]
        assert collapsed == target.tolist()
    assert x[..., -1].max() == 1
    assert LetterMaterial([hands]).known.tolist() == list(range(1, 27))
    config = IIGAConfig(front="tracks", vocabulary=27, width=16, heads=2, layers=1, track_features=letters.FEATURES)
    assert torch.isfinite(task.loss(IIGA(config), (stills, drawn, x, lengths, labels, targets, counts)))


def test_recorded_hands_spell_what_they_are_asked() -> None:
    recogniser = load_recogniser(MODEL)
    lexicon = Lexicon(bundled("en"))
    for word in ("HELLO", "COFFEE", "WORLD"):
        hands, middles = spelling.film_of(word)
        read = recogniser.answer_of_hands(hands)
        assert lexicon.guesses(spaced(list(read.log_probabilities)))[0].word == word
        assert [letter for letter in read.greedy if letter == "L"] == ["L"] * word.count("L")
        assert len(middles) == len(word) and read.attention.keys() == set(recogniser.layer_names)


def test_a_hand_is_compared_with_the_nearest_example_of_a_sign() -> None:
    digits = {name: one.stills for name, one in examples().items() if name.isdigit()}
    apart = np.concatenate([finger_distances(hands[0], hands[1:]).min(axis=0) for hands in digits.values()])
    assert (apart > DIFFERS).mean() < 0.05
    five = digits["5"][0]
    assert fingers_that_differ(five * [-1, 1] * 40 + 300, "5") == []
    assert len(fingers_that_differ(five, "0")) >= 3 and fingers_that_differ(five, "APPLE") == []


def test_letters_are_scored_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hands = spelling.bundled_hands()
    kept = hands.letters <= 5
    names = np.array([LETTERS[index - 1] for index in hands.letters[kept]])
    np.savez(tmp_path / "hands.npz", points=hands.points[kept][..., :2] * 3 + 9, letter=names)
    (tmp_path / "words.txt").write_text("BAD\nBED\nCAB\nHELLO\n")
    main(["evaluate", "letters", "--data", str(tmp_path / "hands.npz"), "--words", str(tmp_path / "words.txt"), "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert answer["samples"] == int(kept.sum()) and answer["words_drawn"] == 400
    assert [answer[key] for key in ("list", "list_shown", "turned")] == [4, 3, 0]
    assert answer["letters"] > 0.8 and answer["words"] > 0.9
