"""Stages of a scene: what the model read, as the view draws it, with the names of its tokens."""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from attention_light.message import MessageParts
from attention_light.sentences import N_

MAX_SIDE: Final = 512
"""Pixels of a picture's longer side in a scene; a stage is not drawn much larger."""
MAX_SHEET: Final = 2560
"""The same of all frames of a film side by side."""


class _Stage:
    """Parts that stages have in common.

    Attributes:
        row_by_row: whether a small square shows one row of a map at a time, in its own brightness, or all of it.
    """

    row_by_row: ClassVar[bool] = False

    def blocks(self, count: int, most: int) -> NDArray[np.intp]:
        """The block of each of `count` tokens that follow each other, at most `most` blocks."""
        return np.arange(count) * min(count, most) // count

    def meaning(self, kind: str) -> NDArray[np.bool_]:
        """Whether each token of a kind means something: a special one and punctuation do not."""
        return np.ones(len(self.tokens()[kind]), dtype=bool)

    def apart(self, kind: str) -> NDArray[np.bool_]:
        """Whether two tokens of a kind are no neighbours, (n, n)."""
        places = np.arange(len(self.tokens()[kind]))
        return np.asarray(np.abs(places[:, None] - places) > 1)

    def meant(self, of: str, kind: str) -> NDArray[np.bool_]:
        """The pairs of tokens, (n, m), that a view may open on: both mean something, and they are no neighbours."""
        kind = kind or next(iter(self.tokens()))
        both = self.meaning(of or kind)[:, None] & self.meaning(kind)
        return both & self.apart(kind) if not of or of == kind else both

    def tokens(self) -> dict[str, list[str]]:
        """Names of the tokens by kind."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class BookStage(_Stage):
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
class PictureStage(_Stage):
    """A picture, cut into patches row by row.

    Attributes:
        pixels: as `as_pixels` takes them: (height, width, 3) or (height, width), uint8, or floats from 0 to 1.
        grid: rows and columns of patches.
        extra: names of the tokens before the patches, such as a class token.
        vectors: (n, d), of each token after the last layer, by which the view lights what is like a token; none where None.
        parts: uint8 (rows, columns, 3), a colour a patch, which parts of the picture share.
        explained: the share of the vectors' variance that the colours show.
        lit_by: what lights a token that is chosen, where there are vectors: "looks", "like" or "parts".
    """

    name: ClassVar[str] = "picture"
    row_by_row: ClassVar[bool] = True
    pixels: NDArray[Any]
    grid: tuple[int, int]
    extra: Sequence[str] = ()
    patch: str = N_("the patch in row {row}, column {column}")
    vectors: NDArray[np.floating] | None = None
    parts: NDArray[np.uint8] | None = None
    explained: float = 0.0
    lit_by: str = "looks"

    def tokens(self) -> dict[str, list[str]]:
        """Names of the extra tokens and the patches."""
        rows, columns = self.grid
        patches = [self.patch.format(row=r + 1, column=c + 1) for r in range(rows) for c in range(columns)]
        return {"patch": [*self.extra, *patches]}

    def meaning(self, kind: str) -> NDArray[np.bool_]:
        """All patches."""
        return np.arange(len(self.extra) + self.grid[0] * self.grid[1]) >= len(self.extra)

    def apart(self, kind: str) -> NDArray[np.bool_]:
        """Patches that do not touch."""
        row, column = np.divmod(np.arange(self.grid[0] * self.grid[1]), self.grid[1])
        far = (np.abs(row[:, None] - row) > 1) | (np.abs(column[:, None] - column) > 1)
        return np.pad(far, (len(self.extra), 0), constant_values=True)

    def blocks(self, count: int, most: int) -> NDArray[np.intp]:
        """Extra tokens each alone, patches in squares."""
        rows, columns = self.grid
        side = 1
        while len(self.extra) + -(-rows // side) * -(-columns // side) > most and side < max(rows, columns):
            side += 1
        row, column = np.divmod(np.arange(rows * columns), columns)
        squares = row // side * -(-columns // side) + column // side
        return np.concatenate([np.arange(len(self.extra)), len(self.extra) + squares])

    def described(self, add: MessageParts) -> dict[str, Any]:
        """The picture as a file, and where its patches are."""
        pixels = as_pixels(self.pixels)
        height, width = pixels.shape[:2]
        message = {"picture": add(_picture(pixels)), "grid": list(self.grid), "extra": len(self.extra), "aspect": width / height}
        if self.vectors is None or self.parts is None:
            return message
        unit = self.vectors / np.linalg.norm(self.vectors, axis=1, keepdims=True)
        likeness = {"vectors": add(unit.astype(np.float16)), "parts": add(self.parts), "explained": self.explained}
        return message | likeness | {"litBy": self.lit_by}


@dataclass(frozen=True, kw_only=True)
class FilmStage(_Stage):
    """Frames of a film.

    Attributes:
        frames: (n, height, width, 3), uint8.
        seconds: (n,), when each begins.
        captions: what is read, each with its first and last frame; written beside the frame in play.
        notes: (n,), under that.
        decimal: sign between seconds and their hundredths.
        rests: (n,), number of the measure, from 0, that lights the stage at rest while a frame is in play; the first where empty.
    """

    name: ClassVar[str] = "film"
    frames: NDArray[np.uint8]
    seconds: Sequence[float]
    captions: Sequence[tuple[str, int, int]] = ()
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
            "captions": [list(one) for one in self.captions],
            "notes": list(self.notes),
            "rests": [int(one) for one in self.rests],
        }


@dataclass(frozen=True, kw_only=True)
class WordStage(_Stage):
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

    @classmethod
    def of_pieces(cls, pieces: Sequence[str], answer: Sequence[str] = ()) -> Self:
        """A stage of a tokenizer's pieces, which say themselves where a word begins or goes on.

        Args:
            pieces: as `convert_ids_to_tokens` spells them ("##" or a mark of spaces, bytes as GPT-2's letters), or plain words.
        """
        words, joined = read_pieces(pieces)
        return cls(words=words, joined=joined, answer=read_pieces(answer)[0] if answer else ())

    def tokens(self) -> dict[str, list[str]]:
        """The words in quotation marks; of an answer its symbols, and those before each."""
        words, answer = ([f"“{visible(one)}”" for one in signs] for signs in (self.words, self.answer))
        return {"word": words} | ({"symbol": answer[1:], "past": answer[:-1]} if answer else {})

    def meaning(self, kind: str) -> NDArray[np.bool_]:
        """Those with a letter or digit that are no signs of the model's own, such as [CLS] or <s>."""
        signs = {"word": self.words, "symbol": self.answer[1:], "past": self.answer[:-1]}[kind]
        return np.array([any(map(str.isalnum, one)) and not SPECIAL.fullmatch(one) for one in signs], dtype=bool)

    def described(self, add: MessageParts) -> dict[str, Any]:
        """The words themselves."""
        del add
        joined = [bool(one) for one in self.joined] or [False] * len(self.words)
        return {"words": [visible(one) for one in self.words], "joined": joined, "answer": [visible(one) for one in self.answer]}


@dataclass(frozen=True, kw_only=True)
class GridStage(_Stage):
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


SPECIAL: Final = re.compile(r"\s*(\[[^\]]*\]|<(?!0x)[^>]*>)\s*")
"""Spelling of tokens that stand for no text; "<0xF0>" is a byte of one."""
MARKS: Final = str.maketrans({"\n": "↵", "\r": "↵", "\t": "⇥"})


def visible(token: str) -> str:
    """The token with a mark for what would not be seen: an empty one, a space alone, a new line, a tabulator."""
    marked = token.translate(MARKS)
    return marked.strip() or ("␣" if marked else "∅")


_LETTERS: Final = [*range(33, 127), *range(161, 173), *range(174, 256)]
_OTHERS: Final = [byte for byte in range(256) if byte not in set(_LETTERS)]
BYTES: Final = {chr(one): one for one in _LETTERS} | {chr(256 + i): one for i, one in enumerate(_OTHERS)}
"""The byte that each letter of a byte-level vocabulary stands for (Radford et al. 2019, `bytes_to_unicode`): "Ġ" is a space."""


def read_pieces(pieces: Sequence[str]) -> tuple[list[str], list[bool]]:
    """Words and whether each goes on with the one before it, of a tokenizer's pieces.

    A vocabulary is recognised by its marks: "##" goes on with a word (WordPiece), "▁" begins one (SentencePiece), and so does
    "Ġ", where the pieces are bytes spelt as letters. Without a mark in any piece each is a word. Bytes that are no whole letter
    show as their number.
    """
    if any("Ġ" in one or "Ċ" in one for one in pieces):
        pieces = [one if SPECIAL.fullmatch(one) else _of_bytes(one) for one in pieces]
        alone = [not i or SPECIAL.fullmatch(one) or SPECIAL.fullmatch(pieces[i - 1]) for i, one in enumerate(pieces)]
        begins = [
            bool(before) or one[:1].isspace() or pieces[i - 1][-1:].isspace()
            for i, (one, before) in enumerate(zip(pieces, alone, strict=True))
        ]
    elif any("▁" in one for one in pieces):
        begins = [one.startswith("▁") or bool(SPECIAL.fullmatch(one)) for one in pieces]
        pieces = [one.replace("▁", " ") for one in pieces]
    else:
        begins = [not one.startswith("##") or len(one) < 3 for one in pieces]
        pieces = [one if begin else one[2:] for one, begin in zip(pieces, begins, strict=True)]
    return [one.strip(" ") or one for one in pieces], [i > 0 and not begin for i, begin in enumerate(begins)]


def _of_bytes(piece: str) -> str:
    try:
        whole = bytes(BYTES[letter] for letter in piece)
    except KeyError:  # not of this vocabulary
        return piece
    try:
        return whole.decode()
    except UnicodeDecodeError:
        return " ".join(f"{byte:02X}" for byte in whole)


Stage = BookStage | PictureStage | FilmStage | WordStage | GridStage


def as_pixels(picture: Any) -> NDArray[np.uint8]:
    """A picture (height, width, 3) or (height, width) in uint8, of an array, tensor or PIL image.

    Args:
        picture: in uint8, or in floats from 0 to 1; the three channels last, or first as torch has them.

    Raises:
        ValueError: for another range or form.
    """
    pixels = np.asarray(picture.detach().cpu() if hasattr(picture, "detach") else picture)
    if pixels.ndim == 3 and pixels.shape[0] in (1, 3) and pixels.shape[-1] not in (1, 3):
        pixels = np.moveaxis(pixels, 0, -1)
    if pixels.ndim == 3 and pixels.shape[-1] == 1:
        pixels = pixels[..., 0]
    if pixels.ndim != 2 and (pixels.ndim != 3 or pixels.shape[-1] != 3):
        raise ValueError(f"a picture is (height, width), (height, width, 3) or (3, height, width), not {pixels.shape}")
    if pixels.dtype == np.uint8:
        return pixels
    low, high = float(pixels.min()), float(pixels.max())
    if not (np.issubdtype(pixels.dtype, np.floating) and low >= 0 and high <= 1):
        raise ValueError(f"a picture is uint8 or floats from 0 to 1, not {pixels.dtype} from {low:.4g} to {high:.4g}")
    return np.asarray(np.round(pixels * 255), dtype=np.uint8)


def _picture(pixels: NDArray[np.uint8], *, longest: int = MAX_SIDE) -> bytes:
    """The pixels as a PNG where they are few, else as a JPEG, at most `longest` pixels a side; always a PNG without Pillow."""
    try:
        from PIL import Image
    except ModuleNotFoundError:
        step = -(-max(pixels.shape[:2]) // longest)
        return png(pixels[::step, ::step])
    image = Image.fromarray(pixels).convert("RGB")
    image.thumbnail((longest, longest))
    file = io.BytesIO()
    if image.width * image.height <= 128 * 128:
        image.save(file, "PNG")
    else:
        image.save(file, "JPEG", quality=88)
    return file.getvalue()


def png(pixels: NDArray[np.uint8]) -> bytes:
    """A PNG (W3C, third edition) of 8 bits a channel, its rows unfiltered."""
    height, width = pixels.shape[:2]
    rows = np.zeros((height, 1 + pixels.size // height), dtype=np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2 if pixels.ndim == 3 else 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows.tobytes())) + chunk(b"IEND", b"")
