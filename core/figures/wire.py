"""Encodes figures for the browser as parts, the traces and the layout, and sends unchanged parts by name only.

A live figure is sent four times a second, and most of it does not change. A part's name is a digest of its JSON. Arrays are
encoded as plotly's base64 typed arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import orjson
import plotly.graph_objects as go
from plotly.io.json import to_json_plotly

from core.figures import style

REPEATS: Final = 3
"""How often a part is sent before only its name is: the server drops frames that a slow browser has not fetched yet."""


@dataclass(frozen=True, kw_only=True)
class FigurePart:
    """A trace or the layout. `name` is a digest of `body`, its JSON."""

    name: str
    body: bytes


@dataclass(frozen=True, kw_only=True)
class FigureParts:
    """The parts of a figure."""

    traces: tuple[FigurePart, ...]
    layout: FigurePart

    def names(self) -> list[str]:
        """The names of all parts, traces first."""
        return [part.name for part in (*self.traces, self.layout)]


def split(figure: go.Figure | Mapping[str, Any]) -> FigureParts:
    """The parts of a figure or of its dictionary."""
    whole = (figure if isinstance(figure, go.Figure) else go.Figure(figure, _validate=style.CHECKED)).to_dict()
    return FigureParts(traces=tuple(_part(trace) for trace in whole["data"]), layout=_part(whole.get("layout", {})))


def frame(parts: FigureParts, sent: Mapping[str, int], extra: Mapping[str, Any]) -> tuple[bytes, dict[str, int]]:
    """One message to the browser, and the updated counts.

    Args:
        sent: how often each part has been sent, by name; with an empty mapping everything is sent.
        extra: further JSON values of the message.

    Returns:
        The message, JSON: `{"traces": [{"name", "value"?}], "layout": {"name", "value"?}, **extra}`; and the counts to pass
        the next time, of this figure's parts only.
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
