"""The bundled clips and tracks are what their lists say."""

from pathlib import Path

import av
import pytest

from core.signs.samples import FOLDER, clip_samples, track_samples


def test_every_clip_opens_and_says_its_digits() -> None:
    samples = clip_samples()
    assert len(samples) == 6
    for sample in samples:
        assert sample.name == "digits_" + "".join(sample.glosses)
        assert [name.split("/")[0] for name in sample.photos] == list(sample.glosses)  # the photos' folders are their digits
        assert "Apache-2.0" in sample.licence and sample.signer >= 154  # a dev signer
        with av.open(str(sample.path)) as container:
            frames = sum(1 for _ in container.decode(video=0))
            assert container.streams.video[0].average_rate == sample.fps
        assert frames >= 4 * len(sample.glosses)
    assert sum(path.stat().st_size for path in FOLDER.glob("*.mp4")) < 500_000


def test_tracks_are_the_forty_test_sentences() -> None:
    sentences = track_samples()
    assert len(sentences) == 40
    assert {one.speaker for one in sentences} == {"man-1", "woman-1", "woman-2"}
    assert sum(len(one.glosses) for one in sentences) == 178
    assert all(one.tracks.shape[1] == 6 and len(one.tracks) > 40 for one in sentences)
    first = sentences[0]
    assert (first.video, first.glosses, first.tracks.shape) == (2, ("JOHN", "WRITE", "HOMEWORK"), (75, 6))


def test_a_list_that_names_a_missing_clip_says_so(tmp_path: Path) -> None:
    (tmp_path / "clips.json").write_text((FOLDER / "clips.json").read_text())
    with pytest.raises(FileNotFoundError, match="clips.json names digits_2026.mp4"):
        clip_samples(tmp_path)
