"""How a figure travels to the browser: as parts (its traces and its layout), each once.

A live figure is sent four times a second, and most of it does not change. Each part is named by a digest of its JSON; a part
the browser already has is sent as its name alone. Arrays travel as plotly's base64 typed arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import orjson
import plotly.graph_objects as go
from plotly.io.json import to_json_plotly

REPEATS: Final = 3
"""Times a part is sent before its name alone will do: the server drops frames that a slow browser has not fetched yet."""


@dataclass(frozen=True, kw_only=True)
class FigurePart:
    """A trace or the layout. `name` is a digest of `body`, its JSON."""

    name: str
    body: bytes


@dataclass(frozen=True, kw_only=True)
class FigureParts:
    """A figure, taken apart."""

    traces: tuple[FigurePart, ...]
    layout: FigurePart

    def names(self) -> list[str]:
        """All names, traces first."""
        return [part.name for part in (*self.traces, self.layout)]


def split(figure: go.Figure | Mapping[str, Any]) -> FigureParts:
    """A figure, or its dictionary with arrays left as arrays -> its parts."""
    whole = (figure if isinstance(figure, go.Figure) else go.Figure(figure)).to_dict()
    return FigureParts(traces=tuple(_part(trace) for trace in whole["data"]), layout=_part(whole.get("layout", {})))


def frame(parts: FigureParts, sent: Mapping[str, int], extra: Mapping[str, Any]) -> tuple[bytes, dict[str, int]]:
    """One message to the browser, and what has now been sent.

    Args:
        sent: how often the browser has been sent each part, by name; empty sends everything.
        extra: JSON values that go along.

    Returns:
        The message, JSON: `{"traces": [{"name", "value"?}], "layout": {"name", "value"?}, **extra}`; and the counts to pass
        the next time, which know only the parts of this figure.
    """
    counts = {name: sent.get(name, 0) + 1 for name in parts.names()}
    traces = b",".join(_message(part, sent) for part in parts.traces)
    rest = b"".join(b"," + orjson.dumps(key) + b":" + orjson.dumps(value) for key, value in extra.items())
    return b'{"traces":[' + traces + b'],"layout":' + _message(parts.layout, sent) + rest + b"}", counts


def _part(value: Any) -> FigurePart:
    body = to_json_plotly(value, engine="orjson").encode()
    return FigurePart(name=blake2b(body, digest_size=8).hexdigest(), body=body)


def _message(part: FigurePart, sent: Mapping[str, int]) -> bytes:
    name = b'{"name":"' + part.name.encode() + b'"'
    return name + b"}" if sent.get(part.name, 0) >= REPEATS else name + b',"value":' + part.body + b"}"
