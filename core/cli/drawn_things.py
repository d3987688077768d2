"""Drawn characters, shapes and pages of text: pictures of no garments to train on."""

from __future__ import annotations

from typing import Final

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from core.training.vit_photographs import SQUARE

CHARACTERS: Final = "0123456789" * 3 + "ABCDEFGHKLMNPRSTWXYZabdefghkmnprtw"


def drawn_thing(generator: torch.Generator) -> Tensor:
    """(3, SQUARE, SQUARE) in [0, 1]: one of the three, sharp or as coarse as a scan, light on dark or dark on light."""

    def draw(*size: int) -> Tensor:
        return torch.rand(*size, generator=generator)

    canvas = Image.new("L", (SQUARE, SQUARE))
    kinds = (_character, _shape, _page)
    kinds[int(torch.randint(len(kinds), (1,), generator=generator))](ImageDraw.Draw(canvas), generator)
    if draw(1) < 0.4:
        grain = int(torch.randint(12, 60, (1,), generator=generator))
        canvas = canvas.resize((grain, grain), Image.Resampling.BOX).resize((SQUARE, SQUARE), Image.Resampling.BICUBIC)
    cover = torch.from_numpy(np.asarray(canvas).copy()).float()[None] / 255
    grey = draw(1) < 0.6
    ink, paper = (draw(1 if grey else 3, 1, 1).expand(3, 1, 1) for _ in range(2))
    if draw(1) < 0.7:  # clear contrast, either way
        dark = 0.3 * ink
        light = 1 - 0.3 * paper
        ink, paper = (dark, light) if draw(1) < 0.6 else (light, dark)
    return cover * ink + (1 - cover) * paper


def _character(canvas: ImageDraw.ImageDraw, generator: torch.Generator) -> None:
    """A digit or a letter in the middle."""
    sign = CHARACTERS[int(torch.randint(len(CHARACTERS), (1,), generator=generator))]
    height = int(SQUARE * (0.5 + 0.5 * float(torch.rand(1, generator=generator))))
    stroke = int(torch.randint(0, 6, (1,), generator=generator))
    middle = (SQUARE / 2, SQUARE / 2)
    canvas.text(middle, sign, 255, font=ImageFont.load_default(height), anchor="mm", stroke_width=stroke)


def _shape(canvas: ImageDraw.ImageDraw, generator: torch.Generator) -> None:
    """One to four ellipses, boxes and polygons, filled or in outline; a face or a mug of a drawing is made of such."""
    for _ in range(int(torch.randint(1, 5, (1,), generator=generator))):
        x, y = (float(value) * SQUARE for value in 0.2 + 0.6 * torch.rand(2, generator=generator))
        wide, high = (float(value) * SQUARE for value in 0.05 + 0.4 * torch.rand(2, generator=generator))
        box = (x - wide, y - high, x + wide, y + high)
        fill = int(torch.randint(60, 256, (1,), generator=generator)) if torch.rand(1, generator=generator) < 0.6 else None
        width = int(torch.randint(1, 7, (1,), generator=generator))
        corners = int(torch.randint(1, 7, (1,), generator=generator))
        if corners == 1:
            canvas.ellipse(box, fill=fill, outline=255, width=width)
        elif corners == 2:
            canvas.rectangle(box, fill=fill, outline=255, width=width)
        else:
            turns = torch.rand(corners, generator=generator).sort().values * 2 * np.pi
            points = [(x + wide * float(turn.cos()), y + high * float(turn.sin())) for turn in turns]
            canvas.polygon(points, fill=fill, outline=255, width=width)


def _page(canvas: ImageDraw.ImageDraw, generator: torch.Generator) -> None:
    """Lines of letters over the whole picture."""
    height = int(torch.randint(6, 22, (1,), generator=generator))
    font = ImageFont.load_default(height)
    margin = float(torch.rand(1, generator=generator)) * SQUARE / 5
    step = height * (1.1 + 0.7 * float(torch.rand(1, generator=generator)))
    top = margin
    while top < SQUARE - margin:
        letters = torch.randint(len(CHARACTERS) + 12, (60,), generator=generator).tolist()
        line = "".join(CHARACTERS[one] if one < len(CHARACTERS) else " " for one in letters)
        room = int((SQUARE - 2 * margin) / (0.55 * height) * (0.6 + 0.4 * float(torch.rand(1, generator=generator))))
        canvas.text((margin, top), line[:room], 255, font=font)
        top += step
