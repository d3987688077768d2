"""Reading of any photograph by DINOv2: tokens, every head's attention, and what stands out.

seen = sight_reader().read(decode(data), side=336)
seen.salience              # (336, 336) in 0..1
seen.weights[11, 3, 0]     # (577,): the class token's row of layer 12, head 4
seen.likeness(40)          # (24, 24): cosine of each patch's token with that of token 40
"""

import time
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from safetensors.torch import load_file
from torch import Tensor

from attention_light import AttentionScene, LayerMaps, LayerVectors, PictureStage
from core.device import Placement, falls_back, without_memory
from core.messages import BadValue
from core.models.dinov2 import DINOv2
from core.nn import scaled_dot_product_attention
from core.vision.pictures import Bytes, Picture, from_pixels
from core.vision.sight_files import SIGHT_FILES, WEIGHTS

PATCH: Final = 14
"""Pixels along a side of a patch."""
SIDE: Final = 336
"""Pixels along a side where nobody asks for others: 24 x 24 patches."""
LIVE_SIDE: Final = 196
"""Pixels along a side of a camera's frame as it is read, 14 x 14 patches: one core reads more than four a second."""
LIVE_CELL: Final = 7
"""Pixels along a side of the cells of its salience that are drawn: half a patch."""
LEAST, MOST = 112, 518
"""Sides that are read; positions were learnt at the largest."""
MEAN: Final = (0.485, 0.456, 0.406)
STD: Final = (0.229, 0.224, 0.225)
"""Of red, green and blue in 0..1; the network reads (colour - mean) / deviation."""
CLASS: Final = "class token"
MEASURE: Final = "what stands out"
"""Name of what lights a scene at rest."""
Head = tuple[int, int]
"""Layer and head, from 1."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SeenPicture:
    """A photograph and what the network made of it. The arrays are shared: do not write to them.

    Attributes:
        pixels: uint8 (side, side, 3), what was read: the picture, centred, with black beside it where it is no square.
        inside: left, top, right and bottom of the picture in these, pixels.
        grid: rows and columns of patches; a token each, row by row, after the class token, n in all.
        tokens: (n, 384), after the last layer.
        queries, keys: (12, 6, n, 64), of every layer and head.
        salience: (side, side) in 0..1, how much each pixel stands out by the network's own answer.
    """

    pixels: Bytes
    inside: tuple[int, int, int, int]
    grid: tuple[int, int]
    tokens: NDArray[np.float32]
    queries: NDArray[np.float32]
    keys: NDArray[np.float32]
    salience: NDArray[np.float32]

    @cached_property
    def weights(self) -> NDArray[np.float32]:
        """(12, 6, n, n), rows summing to 1."""
        return self._weights(self.queries)

    def rows(self, token: int) -> NDArray[np.float32]:
        """(12, 6, n): what a token looks at, in every layer and head."""
        return self._weights(self.queries[:, :, token, None])[:, :, 0]

    def _weights(self, queries: NDArray[np.float32]) -> NDArray[np.float32]:
        q, k = torch.from_numpy(queries), torch.from_numpy(self.keys)
        return np.asarray(scaled_dot_product_attention(q, k, k, return_weights=True)[1].numpy())

    def likeness(self, token: int) -> NDArray[np.float32]:
        """(rows, columns): the cosine of each patch's token with that of a token, by number from 0, the class token's."""
        unit = self.tokens / np.linalg.norm(self.tokens, axis=1, keepdims=True)
        return np.asarray((unit[1:] @ unit[token]).reshape(self.grid))

    def of_picture(self, cell: int = PATCH) -> NDArray[np.bool_]:
        """(rows, columns): the cells, of so many pixels a side, whose middle shows the picture."""
        left, top, right, bottom = self.inside
        middle = (np.arange(len(self.salience) // cell) + 0.5) * cell
        return np.asarray(((top <= middle) & (middle < bottom))[:, None] & ((left <= middle) & (middle < right)))

    @property
    def standing_out(self) -> float:
        """The share of the picture's own pixels that stand out: above a half."""
        left, top, right, bottom = self.inside
        return float((self.salience[top:bottom, left:right] > 0.5).mean())

    @cached_property
    def patch_salience(self) -> NDArray[np.float32]:
        """(rows, columns): the mean of each patch."""
        rows, columns = self.grid
        return np.asarray(self.salience.reshape(rows, PATCH, columns, PATCH).mean(axis=(1, 3)))

    def scene(self, **more: Any) -> AttentionScene:
        """The photograph as a scene, lit at rest by what stands out; see `AttentionScene` for the arguments."""
        layers = [
            LayerVectors(name=f"layer {i}", queries=queries, keys=keys, formula="nb-attention")
            for i, (queries, keys) in enumerate(zip(self.queries, self.keys, strict=True), start=1)
        ]
        colours, share = main_directions(self.tokens[1:], self.of_picture().ravel())
        stage = PictureStage(
            pixels=self.pixels,
            grid=self.grid,
            extra=[CLASS],
            vectors=self.tokens,
            parts=colours.reshape(*self.grid, 3),
            explained=share,
        )
        measures = {MEASURE: np.append(0.0, self.patch_salience.ravel())}
        return AttentionScene(stage=stage, layers=layers, measures=measures, **{"start": 0, "rolled": False} | more)


def pair_scene(first: SeenPicture, other: SeenPicture, **more: Any) -> AttentionScene:
    """Two photographs of one side beside each other, where a patch of either lights what is like it in both.

    The one layer is the mean of the last layer's heads: each photograph looks at itself alone.
    """
    rows, columns = first.grid
    n = 1 + rows * columns
    numbers = np.arange(1, n).reshape(first.grid)
    order = np.concatenate([[0, n], np.concatenate([numbers, n + numbers], axis=1).ravel()])  # class tokens, then row by row
    weights = np.zeros((2 * n, 2 * n), dtype=np.float32)
    for at, seen in ((0, first), (n, other)):
        weights[at : at + n, at : at + n] = seen.weights[-1].mean(axis=0)
    tokens = np.concatenate([first.tokens, other.tokens])[order]
    inner = np.concatenate([first.of_picture(), other.of_picture()], axis=1).ravel()
    colours, share = main_directions(tokens[2:], inner)
    stage = PictureStage(
        pixels=np.concatenate([first.pixels, other.pixels], axis=1),
        grid=(rows, 2 * columns),
        extra=[CLASS, CLASS],
        vectors=tokens,
        parts=colours.reshape(rows, 2 * columns, 3),
        explained=share,
        lit_by="like",
    )
    salience = np.concatenate([first.patch_salience, other.patch_salience], axis=1).ravel()
    layer = LayerMaps(name="layer 12", weights=weights[order][:, order][None], formula="nb-attention")
    return AttentionScene(stage=stage, layers=[layer], measures={MEASURE: np.append([0.0, 0.0], salience)}, start=0, **more)


def main_directions(tokens: NDArray[np.float32], inside: NDArray[np.bool_]) -> tuple[Bytes, float]:
    """Colours (n, 3) of tokens (n, width) by the three main directions in which they differ, and these directions' share.

    Of each direction nine tokens in ten lie between the darkest and the brightest of a colour; the share is of the variance
    (principal components).

    Args:
        inside: (n,), whether a patch is of the picture: the others have no say.
    """
    spread = tokens - tokens[inside].mean(axis=0)
    variances, directions = np.linalg.eigh(spread[inside].T @ spread[inside])  # the largest last; half the time of an SVD
    main = directions[:, :-4:-1]  # (width, 3)
    at = spread @ (main * np.sign(main.sum(axis=0)))  # (n, 3)
    low, high = np.quantile(at[inside], (0.05, 0.95), axis=0)
    colours = 255 * ((at - low) / np.maximum(high - low, 1e-9)).clip(0, 1)
    return colours.round().astype(np.uint8), float(variances[-3:].sum() / variances.sum())


def square(picture: Picture, side: int) -> tuple[Bytes, tuple[int, int, int, int]]:
    """Pixels (side, side, 3) of a picture, centred on black as the network was trained, and where it lies in them.

    One of exactly that size stays as it is. What shows through is white.
    """
    image = Image.fromarray(picture.rgb)
    if picture.alpha is not None:
        image = Image.composite(image, Image.new("RGB", image.size, "white"), Image.fromarray(picture.alpha))
    scale = side / max(image.size)
    if scale != 1:
        kind = Image.Resampling.BOX if scale < 1 else Image.Resampling.BICUBIC
        image = image.resize([max(1, round(one * scale)) for one in image.size], kind)
    left, top = (side - image.width) // 2, (side - image.height) // 2
    whole = np.zeros((side, side, 3), dtype=np.uint8)
    whole[top : top + image.height, left : left + image.width] = np.asarray(image)
    return whole, (left, top, left + image.width, top + image.height)


def normalised(pixels: Bytes) -> Tensor:
    """Pixels (height, width, 3) as the network reads them, (1, 3, height, width)."""
    x = torch.from_numpy(pixels).permute(2, 0, 1)[None].float() / 255  # (height, width, 3) -> (1, 3, height, width)
    return (x - torch.tensor(MEAN)[:, None, None]) / torch.tensor(STD)[:, None, None]


class SightReader:
    """DINOv2 with its head, ready to read.

    Raises:
        MissingModels: where `make sight` has not been run.
    """

    def __init__(self, folder: Path = SIGHT_FILES.folder) -> None:
        path = SIGHT_FILES.checked(folder)[WEIGHTS]
        with without_memory():
            model = DINOv2()
        model.load_state_dict({name: tensor.float() for name, tensor in load_file(path).items()}, assign=True)
        self.placement = Placement(model.eval())

    def read(self, picture: Picture, *, side: int = SIDE, erased: Collection[int] = ()) -> SeenPicture:
        """The photograph with its attention.

        Args:
            erased: tokens of patches, from 1, in whose place the picture's mean colour is read.

        Raises:
            BadValue: for a side that is not a multiple of 14 from 112 to 518.
        """
        if side % PATCH or not LEAST <= side <= MOST:
            raise BadValue(
                "a side of {side} pixels: a multiple of {patch} from {least} to {most} is right",
                side=side,
                patch=PATCH,
                least=LEAST,
                most=MOST,
            )
        pixels, inside = square(picture, side)
        if erased:
            left, top, right, bottom = inside
            mean = pixels[top:bottom, left:right].mean(axis=(0, 1)).round()
            for row, column in (divmod(token - 1, side // PATCH) for token in erased):
                pixels[PATCH * row : PATCH * (row + 1), PATCH * column : PATCH * (column + 1)] = mean
        tokens, queries, keys, salience = self._computed(pixels)
        grid = (side // PATCH, side // PATCH)
        return SeenPicture(pixels=pixels, inside=inside, grid=grid, tokens=tokens, queries=queries, keys=keys, salience=salience)

    @falls_back
    @torch.no_grad()
    def salience(self, pixels: Bytes) -> NDArray[np.float32]:
        """Salience (height, width) of pixels (height, width, 3) alone."""
        model, x = self.placement.model, normalised(pixels).to(self.placement.device)
        return np.asarray(model.salience(model(x), model.grid_of(x))[0].cpu().numpy())

    @falls_back
    @torch.no_grad()
    def class_row(self, pixels: Bytes, layer: int, head: int) -> NDArray[np.float32]:
        """(n,): what the class token looks at in pixels (height, width, 3) by one head of one layer, both from 1."""
        model, x = self.placement.model, normalised(pixels).to(self.placement.device)
        q, k = model.heads_of(x, layer)
        row = scaled_dot_product_attention(q[:, head - 1, :1], k[:, head - 1], k[:, head - 1], return_weights=True)[1]
        assert row is not None
        return np.asarray(row[0, 0].cpu().numpy())

    @falls_back
    @torch.no_grad()
    def _computed(self, pixels: Bytes) -> list[NDArray[np.float32]]:
        """Tokens, queries, keys and salience of pixels (height, width, 3)."""
        model, x = self.placement.model, normalised(pixels).to(self.placement.device)
        tokens, queries, keys = model.forward_with_heads(x)
        salience = model.salience(tokens, model.grid_of(x))
        return [one[0].cpu().numpy() for one in (tokens, queries, keys, salience)]


@cache
def sight_reader() -> SightReader:
    """The reader of this process.

    Raises:
        MissingModels: where `make sight` has not been run.
    """
    return SightReader()


# -- a camera, frame by frame ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LiveSeen:
    """A frame as it is seen.

    Attributes:
        light: (n, n) in 0..1 over the frame, padded to a square: salience, or a head's row of the class token by its largest.
        share: of the frame that stands out; of the class token's weight that the brightest patch has, for a head.
        took_s: seconds.
    """

    light: NDArray[np.float64]
    share: float
    took_s: float


def live_seen(reader: SightReader, rgb: Bytes, head: Head | None) -> LiveSeen:
    """A frame (height, width, 3), read as it is held: what stands out, or what the class token looks at by one head.

    Raises:
        BadValue: for a layer or a head that the network does not have.
    """
    began, config = time.perf_counter(), reader.placement.model.config
    if head is not None and not (1 <= head[0] <= config.layers and 1 <= head[1] <= config.heads):
        raise BadValue("a head is one of {heads} in one of {layers} layers", heads=config.heads, layers=config.layers)
    pixels, (left, top, right, bottom) = square(from_pixels(rgb, name=""), LIVE_SIDE)
    if head is None:
        salience = reader.salience(pixels)
        share = float((salience[top:bottom, left:right] > 0.5).mean())
        light = salience.reshape(LIVE_SIDE // LIVE_CELL, LIVE_CELL, LIVE_SIDE // LIVE_CELL, LIVE_CELL).mean(axis=(1, 3))
    else:
        row = reader.class_row(pixels, *head)[1:]
        share = float(row.max())
        light = row.reshape(LIVE_SIDE // PATCH, LIVE_SIDE // PATCH) / max(share, 1e-12)
    return LiveSeen(light=np.asarray(light, dtype=np.float64), share=share, took_s=time.perf_counter() - began)
