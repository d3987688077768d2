"""Bundled samples: short clips of photographed digits, and real ASL sentences as tracks.

The clips are synthetic sentences of real photos, of signers outside the training data. The tracks are the 40 test sentences of
RWTH-BOSTON-104 (Dreuw et al. 2007).
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from core.signs.tracks import COLUMNS, TrackSentence

FOLDER = Path(__file__).resolve().parent.parent.parent / "assets" / "clips"
"""Folder of the bundled files."""
LIST = "clips.json"
TRACKS = "boston104_test.parquet"


@dataclass(frozen=True, kw_only=True)
class ClipSample:
    """One bundled clip.

    Attributes:
        path: an mp4. glosses: what is signed in it. fps: its frames per second. signer: number of the signer.
        photos: the photo of each digit. licence: of the photos.
    """

    path: Path
    glosses: tuple[str, ...]
    fps: float
    signer: int
    photos: tuple[str, ...]
    licence: str

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        return self.path.stem


def clip_samples(folder: Path = FOLDER) -> list[ClipSample]:
    """The bundled clips, in the list's order.

    Raises:
        FileNotFoundError: where the list or one of its clips is missing.
    """
    samples = []
    for row in json.loads((folder / LIST).read_text(encoding="utf-8")):
        path = folder / row["file"]
        if not path.exists():
            raise FileNotFoundError(f"{LIST} names {path.name}, which is not there")
        samples.append(
            ClipSample(
                path=path,
                glosses=tuple(row["glosses"]),
                fps=float(row["fps"]),
                signer=int(row["signer"]),
                photos=tuple(row["photos"]),
                licence=str(row["licence"]),
            )
        )
    return samples


@cache
def track_samples() -> list[TrackSentence]:
    """The bundled sentences of RWTH-BOSTON-104, in order of their numbers."""
    rows = pd.read_parquet(FOLDER / TRACKS)
    return [
        TrackSentence(
            video=int(video),
            speaker=str(frames["speaker"].iloc[0]),
            tracks=frames.sort_values("frame")[list(COLUMNS)].to_numpy(np.float32),
            glosses=tuple(str(frames["glosses"].iloc[0]).split()),
        )
        for video, frames in rows.groupby("video")
    ]
