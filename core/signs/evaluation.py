"""Scoring a recogniser: the WER of the best path over sentences of tracks, or over clips put together from photos."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from core.signs.decoding import greedy
from core.signs.edits import alignment, word_error_rate
from core.signs.recogniser import Recogniser
from core.signs.synthetic.clips import SCORING, SEED, SENTENCES, Variety, make_clips
from core.signs.synthetic.photo_set import PhotoSet, separate
from core.signs.synthetic.render import Studio
from core.signs.tracks import TrackSentence

Told = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Scored:
    """One sentence: what it says and what was read."""

    name: str
    reference: tuple[str, ...]
    hypothesis: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Result:
    """All sentences of an evaluation."""

    sentences: tuple[Scored, ...]

    @property
    def wer(self) -> float:
        """Corpus-level word error rate (D20a)."""
        return self.wer_of(self.sentences)

    @staticmethod
    def wer_of(sentences: Sequence[Scored]) -> float:
        """The same over some of the sentences."""
        return word_error_rate([one.reference for one in sentences], [one.hypothesis for one in sentences])

    def summary(self) -> dict[str, float | int]:
        """samples, wer, sentences, words, and how many of each edit."""
        edits = [step.operation for one in self.sentences for step in alignment(one.reference, one.hypothesis)]
        return {
            "samples": len(self.sentences),
            "wer": round(self.wer, 6),
            "sentences": len(self.sentences),
            "words": sum(len(one.reference) for one in self.sentences),
            "substitutions": edits.count("substitution"),
            "deletions": edits.count("deletion"),
            "insertions": edits.count("insertion"),
            "sentences_right": sum(one.reference == one.hypothesis for one in self.sentences),
        }

    def unseen(self, seen: Collection[str]) -> list[Scored]:
        """The sentences that are none of `seen`."""
        return [one for one in self.sentences if " ".join(one.reference) not in seen]


def _quiet(done: int, total: int) -> None:
    return None


def evaluate_tracks(recogniser: Recogniser, sentences: Iterable[TrackSentence], *, told: Told = _quiet) -> Result:
    """Read tracked sentences with the best path, without a language model."""
    whole = list(sentences)
    found = []
    for place, one in enumerate(whole, start=1):
        log_probabilities = recogniser.log_probabilities(one.tracks, speaker=one.speaker)
        found.append(Scored(name=str(one.video), reference=one.glosses, hypothesis=tuple(recogniser.greedy(log_probabilities))))
        told(place, len(whole))
    return Result(sentences=tuple(found))


def evaluate_photos(
    recogniser: Recogniser,
    photos: PhotoSet,
    *,
    count: int = SENTENCES,
    seed: int = SEED,
    variety: Variety = SCORING,
    told: Told = _quiet,
) -> Result:
    """Read synthetic sentences of real photos: clips put together from them with a seed."""
    studio = Studio(photos, separate(photos.images), size=recogniser.image_size)
    found = []
    for place, clip in enumerate(make_clips(studio, count, seed=seed, variety=variety), start=1):
        answer = greedy(recogniser.log_probabilities(clip.frames))
        found.append(
            Scored(
                name=f"{place} (signer {clip.signer})",
                reference=tuple(str(digit) for digit in clip.digits),
                hypothesis=tuple(recogniser.vocabulary.decode(answer)),
            )
        )
        told(place, count)
    return Result(sentences=tuple(found))
