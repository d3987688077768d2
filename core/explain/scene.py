"""A scene of attention: the thing that a model read, its maps, and what counted for the answer, as one value for one view.

The thing itself is the stage, and light is attention. `AttentionScene.packed` writes everything as one binary message, which
`assets/scripts/attention_view.js` draws: on a page, in a notebook, and in the file that `save` writes.
"""

from __future__ import annotations

import base64
import html
import io
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from core.explain.rollout import rollout
from core.messages import N_, BadValue

SCRIPTS: Final = Path(__file__).resolve().parents[2] / "assets" / "scripts"
PARTS: Final = ("colours.js", "dom.js", "attention_stages.js", "attention_files.js", "attention_view.js")
"""Scripts of the view, in the order in which a file of its own joins them."""
STYLES: Final = [SCRIPTS.parent / "styles" / name for name in ("colours.css", "attention_view.css")]
MAX_SIDE: Final = 512
"""Pixels of a picture's longer side in a scene; a stage is not drawn much larger."""
MAX_SHEET: Final = 2560
"""The same of all frames of a film side by side."""

SENTENCES: Final = {
    "looks": N_("{layer}, {head}: {query} looks at {key} with {share}, {times} times as much as evenly."),
    "seen": N_("{layer}, {head}: {key} is looked at most by {query}, with {share}."),
    "counts": N_("{measure}: {key} counts most for the answer, with {share} of the whole."),
    "formula": N_("Formula, code and test"),
    "head": N_("head {number}"),
    "mean": N_("mean of heads"),
    "rollout": N_("Rollout"),
    "whole": N_("all layers together"),
    "reverse": N_("Who looks at it?"),
    "play": N_("Layer by layer"),
    "run": N_("Play"),
    "pause": N_("Pause"),
    "erase": N_("Erase"),
    "stop": N_("Stop"),
    "take": N_("Take it away"),
    "png": N_("PNG"),
    "html": N_("HTML"),
    "npz": N_("Numbers (.npz)"),
    "stage": N_("Stage: point at a token to light what it looks at; arrows walk, Enter keeps, Escape lets go."),
    "squares": N_("Layers and heads: point at a square to light the stage by it; arrows walk, Enter keeps."),
    "row": N_("Weights of the chosen token"),
    "help": N_("Point: what it looks at. Press: keep. Shift: who looks at it. Esc: let go."),
}
"""Sentences of the view, in English; a page passes translations."""


class MessageParts:
    """Arrays and files of a message, in their order; calling it adds one and returns where that stands."""

    def __init__(self, blobs: list[bytes]) -> None:
        self.blobs = blobs
        self.size = 0

    def __call__(self, data: NDArray[Any] | bytes) -> dict[str, Any]:
        raw = data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes()
        place: dict[str, Any] = {"at": self.size, "bytes": len(raw)}
        if not isinstance(data, bytes):
            place |= {"shape": list(data.shape), "type": str(data.dtype)}
        padded = raw + b"\0" * (-len(raw) % 8)
        self.blobs.append(padded)
        self.size += len(padded)
        return place


@dataclass(frozen=True, kw_only=True)
class BookStage:
    """The last moments of an order book.

    Attributes:
        levels: (n, 40), oldest first, price and size of ask and bid a level, as `core.market.book` has them.
        step_s: seconds between moments.
        channels: learned channels beside the moments (D2); 0 where no layer relates them.
        places: for each input of a measure of moments and inputs the column of `levels` with its price, -1 for the mid.
    """

    name: ClassVar[str] = "book"
    levels: NDArray[np.floating]
    step_s: float = 0.25
    channels: int = 0
    places: Sequence[int] = tuple(column - column % 2 for column in range(40))
    moment: str = N_("{seconds} s")
    newest: str = N_("now")
    channel: str = N_("channel {number}")

    def tokens(self) -> dict[str, list[str]]:
        """Names of moments and of channels."""
        before = range(len(self.levels) - 1, 0, -1)
        moments = [*(self.moment.format(seconds=f"{-steps * self.step_s:+.2f}") for steps in before), self.newest]
        return {"time": moments, "channel": [self.channel.format(number=i + 1) for i in range(self.channels)]}

    def described(self, add: MessageParts) -> dict[str, Any]:
        """Prices and sizes, for drawing."""
        levels = add(np.asarray(self.levels, dtype=np.float64))
        return {"levels": levels, "step": self.step_s, "places": [int(one) for one in self.places]}


@dataclass(frozen=True, kw_only=True)
class PictureStage:
    """A picture, cut into patches row by row.

    Attributes:
        pixels: (height, width, 3) or (height, width), uint8.
        grid: rows and columns of patches.
        extra: names of the tokens before the patches, such as a class token.
    """

    name: ClassVar[str] = "picture"
    pixels: NDArray[np.uint8]
    grid: tuple[int, int]
    extra: Sequence[str] = ()
    patch: str = N_("the patch in row {row}, column {column}")

    def tokens(self) -> dict[str, list[str]]:
        """Names of the extra tokens and the patches."""
        rows, columns = self.grid
        patches = [self.patch.format(row=r + 1, column=c + 1) for r in range(rows) for c in range(columns)]
        return {"patch": [*self.extra, *patches]}

    def described(self, add: MessageParts) -> dict[str, Any]:
        """The picture as a file, and where its patches are."""
        height, width = self.pixels.shape[:2]
        return {
            "picture": add(_picture(self.pixels)),
            "grid": list(self.grid),
            "extra": len(self.extra),
            "aspect": width / height,
        }


@dataclass(frozen=True, kw_only=True)
class FilmStage:
    """Frames of a film.

    Attributes:
        frames: (n, height, width, 3), uint8.
        seconds: (n,), when each begins.
        said: what is read, each with its first and last frame; written beside the frame in play.
        notes: (n,), under that.
        decimal: sign between seconds and their hundredths.
        rests: (n,), number of the measure, from 0, that lights the stage at rest while a frame is in play; the first where empty.
    """

    name: ClassVar[str] = "film"
    frames: NDArray[np.uint8]
    seconds: Sequence[float]
    said: Sequence[tuple[str, int, int]] = ()
    notes: Sequence[str] = ()
    rests: Sequence[int] = ()
    frame: str = N_("frame {number} ({seconds} s)")
    decimal: str = "."

    def tokens(self) -> dict[str, list[str]]:
        """Names of the frames."""
        seconds = [f"{second:.2f}".replace(".", self.decimal) for second in self.seconds]
        return {"frame": [self.frame.format(number=i + 1, seconds=one) for i, one in enumerate(seconds)]}

    def described(self, add: MessageParts) -> dict[str, Any]:
        """All frames side by side in one picture."""
        count, height, width = self.frames.shape[:3]
        columns = max(1, int(np.ceil(np.sqrt(count * height / width))))
        rows = -(-count // columns)
        sheet = np.zeros((rows * height, columns * width, 3), dtype=np.uint8)
        for i, one in enumerate(self.frames):
            r, c = divmod(i, columns)
            sheet[r * height : (r + 1) * height, c * width : (c + 1) * width] = one
        return {
            "picture": add(_picture(sheet, longest=MAX_SHEET)),
            "columns": columns,
            "rows": rows,
            "aspect": width / height,
            "seconds": [float(s) for s in self.seconds],
            "said": [list(one) for one in self.said],
            "notes": list(self.notes),
            "rests": [int(one) for one in self.rests],
        }


@dataclass(frozen=True, kw_only=True)
class WordStage:
    """Tokens of a text, and the answer where one is written symbol by symbol.

    Attributes:
        words: as the model reads them.
        joined: whether each continues the word before it, for drawing.
        answer: symbols that the model writes, each of which looks at the words or at those before it; the begin sign first.
    """

    name: ClassVar[str] = "words"
    words: Sequence[str]
    joined: Sequence[bool] = ()
    answer: Sequence[str] = ()

    def tokens(self) -> dict[str, list[str]]:
        """The words in quotation marks; of an answer its symbols, and those before each."""
        words, answer = ([f"“{'␣' if one == ' ' else one}”" for one in signs] for signs in (self.words, self.answer))
        return {"word": words} | ({"symbol": answer[1:], "past": answer[:-1]} if answer else {})

    def described(self, add: MessageParts) -> dict[str, Any]:
        """The words themselves."""
        del add
        joined = [bool(one) for one in self.joined] or [False] * len(self.words)
        return {"words": list(self.words), "joined": joined, "answer": list(self.answer)}


@dataclass(frozen=True, kw_only=True)
class GridStage:
    """Any tokens as cells, row by row.

    Attributes:
        names: of the tokens.
        columns: cells a row.
        keys: names of what is looked at, where it is not the same tokens.
    """

    name: ClassVar[str] = "grid"
    names: Sequence[str]
    columns: int
    keys: Sequence[str] = ()

    def tokens(self) -> dict[str, list[str]]:
        """Names of the cells, and of the keys where they differ."""
        return {"cell": list(self.names)} | ({"key": list(self.keys)} if self.keys else {})

    def described(self, add: MessageParts) -> dict[str, Any]:
        """The layout."""
        del add
        return {"columns": self.columns}


Stage = BookStage | PictureStage | FilmStage | WordStage | GridStage


@dataclass(frozen=True, kw_only=True)
class LayerMaps:
    """Maps of one layer.

    Attributes:
        name: as the model names it.
        weights: (heads, queries, keys), rows summing to 1; changed to float16 alone.
        kind: the kind of the stage's tokens that are looked at; the first kind of the stage where empty.
        of: the kind of the tokens that look, where it is another one.
        formula: id of `core.lecture.equations` that says what the weights are, where they are in code and which test has them.
    """

    name: str
    weights: NDArray[np.floating]
    kind: str = ""
    of: str = ""
    formula: str = ""


@dataclass(frozen=True, kw_only=True)
class AttentionScene:
    """Everything that the view shows.

    Attributes:
        stage: what the model read.
        layers: first layer first.
        start: the token that is chosen at first; the last one where None.
        measures: shares of the answer by name, (n,) over the first kind of tokens, or (n, inputs) over a book's moments.
            The first one lights the stage at rest.
        answer: what the model answers, in words.
        titles: names of layers and measures for readers.
        rolled: whether the rollout of each kind's layers is a square of its own.
        choice: layer, head and token that a link names, as the view writes them.

    Raises:
        BadValue: where maps, measures and the stage's tokens do not fit together.
    """

    stage: Stage
    layers: Sequence[LayerMaps]
    start: int | None = None
    measures: Mapping[str, NDArray[np.floating]] = field(default_factory=dict)
    answer: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)
    rolled: bool = True
    choice: str = ""

    def __post_init__(self) -> None:
        tokens = self.stage.tokens()
        if not self.layers:
            raise BadValue("the scene has no layers: give one map or more")
        for one in self.layers:
            shape = one.weights.shape
            kind = one.kind or next(iter(tokens))
            wanted = (len(tokens.get(one.of or kind, ())), len(tokens.get(kind, ())))
            if len(shape) != 3 or shape[1:] != wanted:
                raise BadValue(
                    "the layer {name} has weights of shape {shape}: heads x {queries} x {keys} would fit the stage",
                    name=one.name,
                    shape=str(shape),
                    queries=wanted[0],
                    keys=wanted[1],
                )
        first = len(next(iter(tokens.values())))
        for name, shares in self.measures.items():
            if not 1 <= shares.ndim <= 2 or shares.shape[0] != first:
                raise BadValue(
                    "the measure {name} has the shape {shape}: one share for each of {count} tokens is right",
                    name=name,
                    shape=str(shares.shape),
                    count=first,
                )

    def rollouts(self) -> list[LayerMaps]:
        """The rollout of each kind whose tokens look at each other."""
        first = next(iter(self.stage.tokens()))
        grouped: dict[str, list[LayerMaps]] = {}
        for one in self.layers:
            if not one.of:
                grouped.setdefault(one.kind or first, []).append(one)
        if not self.rolled:
            return []
        return [
            LayerMaps(name="rollout", kind=kind, weights=rollout([one.weights for one in layers])[None])
            for kind, layers in grouped.items()
            if len(layers) > 1
        ]

    def packed(
        self, words: Mapping[str, str] | None = None, *, locale: str = "en", key: str = "", erased: Sequence[int] | None = None
    ) -> bytes:
        """The scene as one message: the length of its head as uint32, the head as JSON, then arrays, 8 bytes aligned.

        Args:
            words: `SENTENCES` in the reader's language. locale: of numbers. key: the address's parameter that keeps the choice.
            erased: tokens of the first kind that are rubbed out; None where the page answers no erasing.
        """
        tokens = self.stage.tokens()
        first = next(iter(tokens))
        blobs: list[bytes] = []
        add = MessageParts(blobs)
        head = {
            "stage": {"name": self.stage.name} | self.stage.described(add),
            "tokens": tokens,
            "layers": [
                {
                    "name": one.name,
                    "title": self.titles.get(one.name, one.name),
                    "kind": one.kind or first,
                    "of": one.of or one.kind or first,
                    "formula": one.formula,
                    "weights": add(np.asarray(one.weights, dtype=np.float16)),
                }
                for one in [*self.layers, *self.rollouts()]
            ],
            "measures": [
                {"name": name, "title": self.titles.get(name, name), "shares": add(np.asarray(shares, dtype=np.float32))}
                for name, shares in self.measures.items()
            ],
            "start": self.start,
            "answer": self.answer,
            "words": {**SENTENCES, **(words or {})},
            "locale": locale,
            "choice": self.choice,
            "key": key,
            "erased": None if erased is None else list(erased),
        }
        text = json.dumps(head, ensure_ascii=False, separators=(",", ":")).encode()
        text += b" " * (-(len(text) + 4) % 8)
        return b"".join((struct.pack("<I", len(text)), text, *blobs))

    def html(self, words: Mapping[str, str] | None = None, *, locale: str = "en") -> str:
        """A page of its own with the view and its numbers, which needs no server."""
        script = "\n".join(_joined((SCRIPTS / name).read_text(encoding="utf-8")) for name in PARTS)
        packed = base64.b64encode(self.packed(words, locale=locale)).decode()
        return (
            "<!doctype html><html><head><meta charset=utf-8><meta name=viewport content='width=device-width'>"
            f"<title>{html.escape(self.answer or self.stage.name)}</title>"
            f"<style>{''.join(one.read_text(encoding='utf-8') for one in STYLES)}</style></head>"
            "<body class=attention-page><div id=view></div><script type=module>\n"
            f"{script}\nconst text = atob({json.dumps(packed)});\n"
            "mount(document.getElementById('view'), Uint8Array.from(text, (c) => c.charCodeAt(0)));\n</script></body></html>"
        )

    def save(self, path: str | Path) -> Path:
        """Write the view as an HTML file of its own; returns its path."""
        where = Path(path)
        where.write_text(self.html(), encoding="utf-8")
        return where

    def _repr_html_(self) -> str:
        return f'<iframe style="width:100%;height:720px;border:0" srcdoc="{html.escape(self.html())}"></iframe>'


def _joined(script: str) -> str:
    """A module's text without its imports and exports, as it stands in one script with the others."""
    lines = (line for line in script.splitlines() if not line.startswith("import "))
    return "\n".join(line.removeprefix("export ") for line in lines)


def _picture(pixels: NDArray[np.uint8], *, longest: int = MAX_SIDE) -> bytes:
    """The pixels as a PNG where they are few, else as a JPEG, at most `longest` pixels a side."""
    from PIL import Image

    image = Image.fromarray(pixels).convert("RGB")
    image.thumbnail((longest, longest))
    file = io.BytesIO()
    if image.width * image.height <= 128 * 128:
        image.save(file, "PNG")
    else:
        image.save(file, "JPEG", quality=88)
    return file.getvalue()
