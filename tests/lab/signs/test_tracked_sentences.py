"""Reading tracked sentences, their signers' scales and their frames' glosses."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.signs.tracks import COLUMNS, POOLED, Word, normalised, scale_of
from lab.signs.tracked_sentences import fit_scales, frame_labels, of_sentences, read_sentences

FOLDER = Path(__file__).parents[2] / "fixtures" / "signs" / "boston104"


def test_sentences_are_those_of_the_files() -> None:
    sentences = read_sentences(FOLDER, "train")
    listed = pd.read_csv(FOLDER / "sentences_train.tsv", sep="\t")
    hands = pd.read_csv(FOLDER / "hands_condensed.csv")
    words = pd.read_csv(FOLDER / "train_words.csv")
    assert [one.video for one in sentences] == listed["video"].tolist()
    for one, row in zip(sentences, listed.itertuples(), strict=True):
        assert one.glosses == tuple(row.glosses.split()) == tuple(word.gloss for word in one.words)
        assert one.tracks.shape == (row.num_frames, 6)
        frame = hands[(hands["video"] == one.video) & (hands["frame"] == 3)]
        np.testing.assert_array_equal(one.tracks[3], frame[list(COLUMNS)].to_numpy()[0])
        assert one.words[0].first == words[words["video"] == one.video]["startframe"].iloc[0]
    assert all(one.words == () for one in read_sentences(FOLDER, "test"))


def test_folders_that_do_not_hold_together_are_told_apart(tmp_path: Path) -> None:
    folder = tmp_path / "tracks"
    shutil.copytree(FOLDER, folder)
    with pytest.raises(ValueError, match="no split 'dev': choose train or test"):
        read_sentences(folder, "dev")
    hands = pd.read_csv(folder / "hands_condensed.csv")
    hands[hands["video"] != hands["video"].iloc[-1]].to_csv(folder / "hands_condensed.csv", index=False)
    words = (folder / "train_words.csv").read_text()
    (folder / "train_words.csv").write_text(words.replace("video", "film", 1))
    with pytest.raises(ValueError, match="train_words.csv lacks the columns video"):
        read_sentences(folder, "train")
    (folder / "train_words.csv").write_text(words)
    with pytest.raises(ValueError, match="has no frame of video"):
        [read_sentences(folder, split) for split in ("train", "test")]
    hands.drop(columns="nose-x").to_csv(folder / "hands_condensed.csv", index=False)
    with pytest.raises(ValueError, match="hands_condensed.csv lacks the columns nose-x"):
        read_sentences(folder, "train")
    (folder / "hands_condensed.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="hands_condensed.csv is no table of text"):
        read_sentences(folder, "train")
    (folder / "hands_condensed.csv").unlink()
    with pytest.raises(ValueError, match="tracks lacks hands_condensed.csv"):
        read_sentences(folder, "train")


def test_scales_are_each_signers_own() -> None:
    sentences = read_sentences(FOLDER, "train")
    scales = fit_scales(sentences)
    assert set(scales) == {one.speaker for one in sentences} | {POOLED}
    for speaker in {one.speaker for one in sentences}:
        hands = np.concatenate([normalised(one.tracks, scales[speaker]) for one in sentences if one.speaker == speaker])
        np.testing.assert_allclose(hands.mean(axis=0), 0, atol=1e-3)
        np.testing.assert_allclose(hands.std(axis=0), 1, atol=1e-3)
    assert scale_of(scales, "nobody") == scale_of(scales, None) == scales[POOLED]


def test_labels_a_frame() -> None:
    words = (Word(gloss="A", first=1, last=2), Word(gloss="B", first=4, last=9))
    assert frame_labels(words, 6) == [None, "A", "A", None, "B", "B"]


def test_a_vocabulary_has_each_gloss_once_in_alphabetical_order() -> None:
    assert of_sentences([["JOHN", "LOVE"], ["MARY", "LOVE", "JOHN"]]).glosses == ("JOHN", "LOVE", "MARY")
