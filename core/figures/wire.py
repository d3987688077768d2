"""Encodes figures for the browser as parts, the traces and the layout, and sends unchanged parts by name only.

A live figure is sent four times a second, and most of it does not change. A part's name is a digest of its JSON. Arrays are
encoded as plotly's base64 typed arrays.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import orjson
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.basedatatypes import BasePlotlyType
from plotly.io.json import to_json_plotly

from core.figures import style

PLAIN: Final = {"geojson", "layer", "layers", "range"}
"""Properties whose arrays plotly.js does not read encoded."""
TYPED: Final = {"i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8"}
WHOLE: Final = {"i": (np.int8, np.int16, np.int32), "u": (np.uint8, np.uint16, np.uint32)}
REPEATS: Final = 3
"""Times that a part is sent before only its name is: the server drops frames that a slow browser has not fetched yet."""


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
    if style.CHECKED and not isinstance(figure, go.Figure):
        figure = go.Figure(figure)
    if isinstance(figure, go.Figure):  # its own dictionaries: a copy of all takes longer than to build it
        traces, layout = figure._data, figure._layout
    else:
        traces, layout = figure["data"], figure.get("layout", {})
    return FigureParts(traces=tuple(_part(trace) for trace in traces), layout=_part(layout))


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
    body = to_json_plotly(_encoded(value), engine="orjson").encode()
    return FigurePart(name=blake2b(body, digest_size=8).hexdigest(), body=body)


def _encoded(value: Any) -> Any:
    """A copy of dictionaries with arrays encoded as `go.Figure.to_dict` does; what holds none of either stays as it is."""
    if isinstance(value, BasePlotlyType):
        value = value.to_plotly_json()
    if isinstance(value, Mapping):
        return {name: one if name in PLAIN else _encoded(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_encoded(one) for one in value] if any(isinstance(one, Mapping | BasePlotlyType) for one in value) else value
    return _array(np.asarray(value)) if hasattr(value, "__array__") and np.ndim(value) else value


def _array(values: NDArray[Any]) -> Any:
    """Numbers as plotly.js's typed arrays, whole numbers in as few bytes as hold them; anything else as a list."""
    if values.dtype.kind not in "iuf":
        return values.tolist() if values.dtype.kind in "bOU" else values
    if values.dtype.itemsize == 8 and values.dtype.kind in "iu" and values.size:
        fitting = (
            one for one in WHOLE[values.dtype.kind] if np.iinfo(one).min <= values.min() and values.max() <= np.iinfo(one).max
        )
        values = values.astype(next(fitting, values.dtype))
    kind = f"{values.dtype.kind}{values.dtype.itemsize}"
    if kind not in TYPED or not values.size:
        return values
    spec = {"dtype": kind, "bdata": b64encode(values.tobytes()).decode("ascii")}
    return spec | {"shape": str(values.shape)[1:-1]} if values.ndim > 1 else spec


def _message(part: FigurePart, sent: Mapping[str, int]) -> bytes:
    name = b'{"name":"' + part.name.encode() + b'"'
    return name + b"}" if sent.get(part.name, 0) >= REPEATS else name + b',"value":' + part.body + b"}"
