"""Drawn characters: pictures of no garments to train on."""

from __future__ import annotations

from typing import Final

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from core.training.vit_photographs import SQUARE

CHARACTERS: Final = "0123456789" * 3 + "ABCDEFGHKLMNPRSTWXYZabdefghkmnprtw"


def character(generator: torch.Generator) -> Tensor:
    """(3, SQUARE, SQUARE) in [0, 1]: a digit or a letter, sharp or as coarse as a scan, light on dark or dark on light."""

    def draw(*size: int) -> Tensor:
        return torch.rand(*size, generator=generator)

    sign = CHARACTERS[int(torch.randint(len(CHARACTERS), (1,), generator=generator))]
    height = int(SQUARE * (0.5 + 0.5 * float(draw(1))))
    canvas = Image.new("L", (SQUARE, SQUARE))
    middle = (SQUARE / 2, SQUARE / 2)
    stroke = int(torch.randint(0, 6, (1,), generator=generator))
    ImageDraw.Draw(canvas).text(middle, sign, 255, font=ImageFont.load_default(height), anchor="mm", stroke_width=stroke)
    if draw(1) < 0.5:
        grain = int(torch.randint(12, 40, (1,), generator=generator))
        canvas = canvas.resize((grain, grain), Image.Resampling.BOX).resize((SQUARE, SQUARE), Image.Resampling.BICUBIC)
    cover = torch.from_numpy(np.asarray(canvas).copy()).float()[None] / 255
    grey = draw(1) < 0.6
    ink, paper = (draw(1 if grey else 3, 1, 1).expand(3, 1, 1) for _ in range(2))
    if draw(1) < 0.7:  # clear contrast, either way
        dark = 0.3 * ink
        light = 1 - 0.3 * paper
        ink, paper = (dark, light) if draw(1) < 0.6 else (light, dark)
    return cover * ink + (1 - cover) * paper
