"""A figure that the browser plays by itself: how much of each trace a frame shows, what it says, and where its marks stand.

The whole figure is sent once; `assets/scripts/player.js` cuts it frame by frame, so that playing costs the server nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

How = Literal["points", "upto", "cells", "columns", "rows"]
"""Unit of a trace's number: its first points; points up to this x; a heatmap's first cells row by row, columns, rows."""


@dataclass(frozen=True, kw_only=True)
class PlayFrame:
    """One frame.

    Attributes:
        shown: a number per trace that is cut, in the order of `Play.how`.
        caption: what is to be seen, plain text. layout: value by path in the figure's layout, such as "shapes.0.x0".
    """

    shown: tuple[float, ...]
    caption: str = ""
    layout: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Play:
    """Playback of a figure.

    Attributes:
        how: by the trace's number in the figure. start: frame shown first, from 0 on. every_ms: milliseconds a frame at speed 1.
    """

    how: Mapping[int, How]
    frames: Sequence[PlayFrame]
    start: int = 0
    every_ms: int = 700

    def message(self) -> dict[str, Any]:
        """For the browser, JSON.

        Raises:
            ValueError: where a frame has not one number per trace that is cut, or the first frame is none of them.
        """
        if any(len(frame.shown) != len(self.how) for frame in self.frames):
            raise ValueError(f"a frame needs {len(self.how)} numbers, one per trace that is cut")
        if not 0 <= self.start < len(self.frames):
            raise ValueError(f"frame {self.start} is none of {len(self.frames)}: start between 0 and {len(self.frames) - 1}")
        return {
            "how": {str(trace): how for trace, how in self.how.items()},
            "frames": [[list(frame.shown), frame.caption, dict(frame.layout)] for frame in self.frames],
            "start": self.start,
            "everyMs": self.every_ms,
        }
