"""Positional encodings: sinusoidal (also in the report's variant), learned, and rotary.

Sources: tlob-architecture section 2.4, iiga-equations section 4, vit-report section 2.1 (D11), attention-notebook.
"""

import math

import torch
from torch import Tensor, nn


def sinusoidal_encoding(
    length: int, width: int, *, base: float = 10_000.0, scale: float = 1.0, doubled_exponent: bool = False
) -> Tensor:
    """PE(pos, 2i) = scale * sin(pos / base^(2i/width)), PE(pos, 2i+1) = scale * cos(same angle).

    Args:
        length: number of positions.
        width: channels; an odd width ends on a sine.
        base: 10,000 in every document.
        scale: 0.1 in the ViT report, 1 elsewhere.
        doubled_exponent: as in the ViT report's listing, which doubles an index that is already even (D11).

    Returns:
        (length, width), float32.
    """
    position = torch.arange(length, dtype=torch.float64)[:, None]
    even = torch.arange(0, width, 2, dtype=torch.float64)
    exponent = even * (2.0 if doubled_exponent else 1.0) / width
    angle = position * torch.exp(-math.log(base) * exponent)  # (length, 1) * (ceil(width / 2),) -> (length, ceil(width / 2))
    encoding = torch.empty(length, width, dtype=torch.float64)
    encoding[:, 0::2] = torch.sin(angle)
    encoding[:, 1::2] = torch.cos(angle)[:, : width // 2]
    return (scale * encoding).float()


class SinusoidalPositions(nn.Module):
    """Adds the fixed encoding; has no parameters. A shorter sequence takes the first rows."""

    encoding: Tensor

    def __init__(self, length: int, width: int, *, scale: float = 1.0) -> None:
        super().__init__()
        if torch.get_default_device().type == "meta":  # of shapes alone: torch would load its compiler to compute with them
            encoding = torch.empty(length, width)
        else:
            encoding = sinusoidal_encoding(length, width, scale=scale)
        self.register_buffer("encoding", encoding, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, positions, width) -> the same shape."""
        return x + self.encoding[: x.shape[1]]


class LearnedPositions(nn.Module):
    """Adds one trained vector per position, initialised from N(0, 1) as in the TLOB document."""

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.encoding = nn.Parameter(torch.empty(1, length, width).normal_())

    def forward(self, x: Tensor) -> Tensor:
        """(batch, positions, width) -> the same shape."""
        return x + self.encoding[:, : x.shape[1]]


def rotary_turns(positions: Tensor, width: int, *, base: float) -> Tensor:
    """Turns of a head's pairs of channels at some positions, e^(i position base^(-2i/width)), complex (positions, width / 2).

    Source: Su et al. 2021, "RoFormer", equation 15.
    """
    rates = base ** (-torch.arange(0, width, 2, dtype=torch.float64, device=positions.device) / width)
    angles = positions[:, None].double() * rates
    return torch.polar(torch.ones_like(angles), angles).to(torch.complex64)


def rotated(x: Tensor, turns: Tensor) -> Tensor:
    """Each pair of neighbouring channels of x (..., n, width) as a complex number, turned."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * turns).flatten(-2)
