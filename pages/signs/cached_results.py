"""Results of a recogniser for a clip, kept for everyone who opens the same clip."""

from dataclasses import dataclass
from typing import Any, Final

from core import checkpoints
from core.explain import erasing, faithfulness
from core.explain.attribution import Report
from core.explain.erasing import Needed
from core.explain.faithfulness import ExplainedInput
from core.figures import film as films
from core.figures import strip as strips
from core.figures.pictures import data_url
from core.signs import bundled_measures, evidence, samples, video
from core.signs.evidence import Sentences
from core.signs.hands.model_files import HAND_FILES
from core.signs.recogniser import HANDS, Recogniser
from core.signs.recognition import Recognition
from core.signs.video import Footage
from pages.shared.kept_results import Hashes, kept

THUMBNAIL: Final = 6
"""The frame of a film that stands for it, in its first sign."""


@dataclass(frozen=True, kw_only=True)
class Clip:
    """A clip as a model takes it.

    Attributes:
        key: hash or name of its content. title: shown to people. kind: "frames" or "tracks".
        data: (T, S, S, 3) frames or (T, 6) tracks. seconds: (T,). fps: of `data`.
        glosses: what is signed, None where nobody said. speaker: of tracks.
        note: its origin, or what was read of its file, translated. warnings: why the rest was not, translated.
        film: the frames at the size in which they are shown, where that is another one.
    """

    key: str
    title: str
    kind: str
    data: Any
    seconds: Any
    fps: float
    glosses: tuple[str, ...] | None = None
    speaker: str | None = None
    note: str = ""
    warnings: tuple[str, ...] = ()
    film: Any = None

    @property
    def bundled(self) -> str:
        """The name of a bundled clip; empty of a visitor's."""
        kind, _, name = self.key.partition(":")
        return name.split(":")[0] if kind in ("bundled", "boston104") else ""

    @property
    def pictures(self) -> Any:
        """The frames as they are shown."""
        return self.data if self.film is None else self.film


HASHES: Final[Hashes] = {
    Recogniser: lambda recogniser: recogniser.fingerprint,
    Clip: lambda clip: (clip.key, clip.speaker),
}
"""Keys that tell two arguments apart: a recogniser by its card, a clip by its key."""


def model_names(front: str, *, own_film: bool = False) -> list[str]:
    """The shipped checkpoints that read frames, or tracks; the one on landmarks first for a visitor's film, where it can run."""
    folder = checkpoints.FOLDER
    names = [name for name in checkpoints.names("iiga", folder=folder) if _front(name) == front]
    if own_film and HANDS in names and HAND_FILES.available():
        names.sort(key=lambda name: name != HANDS)
    return names


def _front(name: str) -> str:
    card = checkpoints.read_card(name, folder=checkpoints.FOLDER)
    return "frames" if "landmarks" in card else str(card["config"].get("front", "frames"))  # landmarks are found in frames


shipped = checkpoints.once_a_card(Recogniser)
"""A checkpoint of the app. CheckpointError: where it is missing or damaged."""


@kept(16, HASHES)
def read(recogniser: Recogniser, clip: Clip) -> Recognition:
    """Probabilities, attention and the best path of a clip."""
    return recogniser.answer(clip.data, clip.seconds, speaker=clip.speaker)


@kept(64, HASHES)
def rest_of(recogniser: Recogniser, clip: Clip, hidden: tuple[int, ...]) -> Recognition:
    """The same without some of the model's frames, each of which is at the clip's mean."""
    return evidence.recognition_without(recogniser, clip.data, read(recogniser, clip), hidden, clip.speaker)


@kept(128, HASHES)
def explained(recogniser: Recogniser, clip: Clip, *, frame: int, label: int, hidden: tuple[int, ...] = ()) -> ExplainedInput:
    """Importance of each frame for one label at one frame, by every method; about a second for a clip of 80 frames."""
    return evidence.explain_frame(recogniser, clip.data, frame=frame, label=label, speaker=clip.speaker, hidden=hidden)


def counted(recogniser: Recogniser, clip: Clip, hidden: tuple[int, ...] = ()) -> list[tuple[str, Any]]:
    """For each gloss of the answer without some frames a method's code, and how much each frame counts for the gloss by it.

    The method is the one that reached furthest below chance in this model's deletion test (D38). A long clip, and glosses beyond
    the first few, are measured by gradient relevance, which takes one pass of the model.
    """
    glosses = (rest_of(recogniser, clip, hidden) if hidden else read(recogniser, clip)).glosses
    finding = faithfulness.read(recogniser.name)
    best = finding.best if finding else "gradients"
    known = None if hidden else bundled_measures.find(recogniser, clip.bundled, best)
    if known is not None and len(known) == len(glosses):
        return [(best, row) for row in known]
    short = len(read(recogniser, clip).seconds) <= evidence.MAX_FRAMES
    return [
        (best, explained(recogniser, clip, frame=one.peak, label=one.label, hidden=hidden).importance[best])
        if short and place < evidence.MAX_GLOSSES
        else ("relevance", relevance(recogniser, clip, frame=one.peak, label=one.label, hidden=hidden))
        for place, one in enumerate(glosses)
    ]


@kept(8, HASHES)
def _sentences_without(recogniser: Recogniser, clip: Clip) -> Sentences:
    hands = read(recogniser, clip).hands
    return evidence.glosses_without(recogniser, clip.data, hands=hands, speaker=clip.speaker)


@kept(32, HASHES)
def needed(recogniser: Recogniser, clip: Clip, *, report: Report) -> Needed:
    """Frames that must go until other glosses are read, by what counted for them, by attention and at random."""
    importance = {"attention": evidence.peak_attention(read(recogniser, clip))}
    if rows := [row for _method, row in counted(recogniser, clip)]:
        importance = {"counted": sum(rows)} | importance
    return erasing.needed(_sentences_without(recogniser, clip), importance, report=report)


@kept(64, HASHES)
def relevance(recogniser: Recogniser, clip: Clip, *, frame: int, label: int, hidden: tuple[int, ...]) -> Any:
    """Gradient relevance of each frame for one label at one frame."""
    return evidence.clip_relevance(recogniser, clip.data, frame=frame, label=label, speaker=clip.speaker, hidden=hidden)


@kept(24)
def footage(name: str, size: int, fps: float) -> Footage:
    """A bundled film at a model's size and rate."""
    path = next(one.path for one in samples.clip_samples() if one.name == name)
    return video.read_video(path.read_bytes(), size=size, fps=fps)


@kept(8)
def thumbnail(source: str, code: str) -> str:
    """Address of a small picture of a bundled clip: a hand in it, or the way of the tracked hands."""
    if source == "tracks":
        sentence = next(one for one in samples.track_samples() if str(one.video) == code)
        frames = films.track_frames(sentence.tracks, [len(sentence.tracks) // 3])
    else:
        frames = footage(code, 96, 8.0).frames
    return data_url(video.sheet(frames, [min(THUMBNAIL, len(frames) - 1)])[0])


@kept(16, HASHES)
def pictures(recogniser: Recogniser, clip: Clip) -> Any:
    """(T', S, S, 3) a picture for each of the model's frames: with the hands that were followed, or of the tracked hands."""
    if clip.kind == "tracks":
        return films.track_frames(clip.data, range(0, len(clip.data), recogniser.stride))[: len(read(recogniser, clip).seconds)]
    hands = read(recogniser, clip).hands
    return clip.pictures if hands is None else films.with_hands(clip.pictures, hands)


def strip(recogniser: Recogniser, clip: Clip, most: int) -> list[tuple[int, bytes]]:
    """Small pictures evenly over the clip."""
    frames = pictures(recogniser, clip)
    indices = strips.even_indices(len(frames), most)
    return list(zip(indices, video.sheet(frames, indices), strict=True))
