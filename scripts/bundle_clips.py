"""Make `assets/clips`: `python -m scripts.bundle_clips --digits DIR --boston DIR`.

Writes six clips of digits, made of photos of dev signers, as small mp4 files, and the 40 test sentences of RWTH-BOSTON-104 as
tracks. The same data give the same clips.
"""

from __future__ import annotations

import argparse
import json
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pandas as pd
from PIL import Image

from core.signs import examples, samples, tracks
from core.signs.hands.finder import HandFinder
from core.signs.hands.photo_finder import find_landmarks
from core.signs.synthetic.clips import FPS, SCORING, make_clip
from core.signs.synthetic.photo_set import PhotoSet, separate
from core.signs.synthetic.photos import read_photos
from core.signs.synthetic.render import Studio
from core.training.iiga_hands import VOCABULARY, Signs, read_signs

SENTENCES = ("2 0 2 6", "3 1 4", "7 7 1 5", "9 8 6", "0 5 0 5", "1 2 3 4 5 6 7 8")
"""Sentences of the clips; the repeats show why CTC needs its blank."""
SIZE = 160
PEOPLE = 8
"""Signers of each digit."""
LICENCE = "Apache-2.0, ardamavi/Sign-Language-Digits-Dataset @ 4b09433"


def main() -> None:
    """Write every file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--digits", type=Path, required=True, help="folder of photographed digits, with manifest.csv")
    parser.add_argument("--boston", type=Path, required=True, help="folder of RWTH-BOSTON-104's tracks")
    parser.add_argument("--signs", type=Path, required=True, help="recorded signs (.npz: frames, offsets, labels)")
    parser.add_argument("--to", type=Path, default=samples.FOLDER)
    o = parser.parse_args()
    o.to.mkdir(parents=True, exist_ok=True)
    photos = read_photos(o.digits, "dev")
    whole = [signer for signer in np.unique(photos.signers) if len(np.unique(photos.digits[photos.signers == signer])) == 10]
    rows = []
    for place, sentence in enumerate(SENTENCES):
        rows.append(bundle(photos.of(np.array([whole[5 * place]])), sentence, place, o.to))
    (o.to / samples.LIST).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    bundle_tracks(o.boston, o.to / samples.TRACKS)
    bundle_signs(read_photos(o.digits, "train"), read_signs(o.signs), o.to)


def bundle(photos: PhotoSet, sentence: str, place: int, folder: Path) -> dict[str, object]:
    """One clip of one signer, and its row of the list."""
    studio = Studio(photos, separate(photos.images), size=SIZE)
    chosen = [int(np.flatnonzero(photos.digits == int(digit))[0]) for digit in sentence.split()]
    clip = make_clip(studio, int(photos.signers[0]), chosen, SCORING, seed=place)
    file = f"digits_{sentence.replace(' ', '')}.mp4"
    write_mp4(folder / file, clip.frames)
    return {
        "file": file,
        "glosses": sentence.split(),
        "fps": FPS,
        "signer": clip.signer,
        "photos": clip.photos,
        "licence": LICENCE,
    }


def write_mp4(path: Path, frames: np.ndarray) -> None:
    """(T, S, S, 3) uint8 at FPS frames a second."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(FPS), options={"crf": "23", "preset": "veryslow"})
        stream.width, stream.height, stream.pix_fmt = frames.shape[2], frames.shape[1], "yuv420p"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")))
        container.mux(stream.encode())


def bundle_signs(photos: PhotoSet, signs: Signs, folder: Path) -> None:
    """Hands of `PEOPLE` signers for each digit, a photograph of it, and one recording of each sign that moves."""
    rows: list[dict[str, object]] = []
    finder = HandFinder()
    for digit in range(10):
        places = np.flatnonzero(photos.digits == digit)
        chosen = photos.at(places[((np.arange(PEOPLE) + 0.5) * len(places) / PEOPLE).astype(int)])
        seen = find_landmarks(finder, chosen)
        for points in seen.points[seen.found, 0].round(1):
            rows.append({"gloss": str(digit), "moves": False, "points": points.ravel().tolist()})
        Image.fromarray(chosen.images[int(np.flatnonzero(seen.found)[0])]).save(folder / f"sign_{digit}.jpg", quality=85)
    for label in sorted(set(signs.labels)):
        for points in signs.points[signs.labels.index(label)].round(3):
            rows.append({"gloss": VOCABULARY.glosses[label - 1], "moves": True, "points": points.ravel().tolist()})
    pd.DataFrame(rows).to_parquet(folder / examples.BUNDLED, index=False)


def bundle_tracks(folder: Path, path: Path) -> None:
    """All test sentences in one table, a row a frame."""
    tables = []
    for one in tracks.read_sentences(folder, "test"):
        table = pd.DataFrame(one.tracks.astype(np.int16), columns=list(tracks.COLUMNS))
        table.insert(0, "frame", np.arange(len(table), dtype=np.int16))
        table.insert(0, "glosses", " ".join(one.glosses))
        table.insert(0, "speaker", one.speaker)
        table.insert(0, "video", np.int16(one.video))
        tables.append(table)
    pd.concat(tables).to_parquet(path, index=False, compression="zstd")


if __name__ == "__main__":
    main()
