"""The running markets as JSON, for a reader's own programs: each as it is now, and step after step. Off without the token."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final

from core.market.book import LEVELS
from core.market.hub import hub
from core.market.labels import Head
from core.market.marks import KINDS
from core.market.session import MarketSession
from core.market.stream import SCORES, STATUSES, WHERE_TO, FrameKind, decode
from core.service.access import Action, closed

MAX_CLIENTS: Final = 16
"""Programs that follow a market at once."""
STATE: Final = "/api/state"
STREAM: Final = "/api/stream"
DOCUMENT: Final = "/api/openapi.json"


@closed(Action.READ_API)
def states() -> list[dict[str, Any]]:
    """Every running market, as its newest step.

    Raises:
        NotAllowed: where the visitor may not.
    """
    return [
        json.loads(step_text(session.snapshot(1)[0], session.feed.key, session.predictor.heads)) for session in hub().sessions()
    ]


@closed(Action.READ_API)
def follow(market: str) -> MarketSession | None:
    """The running session of a market's key, None where there is none.

    Raises:
        NotAllowed: where the visitor may not.
    """
    return next((session for session in hub().sessions() if session.feed.key == market), None)


@lru_cache(maxsize=64)
def step_text(frame: bytes, market: str, heads: tuple[Head, ...]) -> str:
    """A step as JSON, made once for all who follow its market."""
    return json.dumps({"market": market, **decode(frame, heads)}, allow_nan=False)


def _object(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": [*fields]}


def _array(of: dict[str, Any], **bounds: int) -> dict[str, Any]:
    return {"type": "array", "items": of, **bounds}


def _step() -> dict[str, Any]:
    """The schema of a step, as `core.market.stream.decode` makes it."""
    number, whole, text = {"type": "number"}, {"type": "integer"}, {"type": "string"}
    ms = {"type": "integer", "description": "Milliseconds since 1970, UTC."}
    side = _array(_array(number, minItems=2, maxItems=2), maxItems=LEVELS) | {"description": "Price and size, best first."}
    call = _object(call={"enum": [*WHERE_TO]}, **{one: {"type": "number", "minimum": 0, "maximum": 1} for one in WHERE_TO})
    by_head = {
        "type": "object",
        "additionalProperties": call,
        "description": "By label and horizon, such as forward_50.",
    }
    score = _object(**{one: {"type": ["number", "null"]} for one in SCORES})
    return _object(
        market=text,
        kind={"enum": [kind.name.lower() for kind in FrameKind], "description": "A snapshot follows a jump, or steps left out."},
        step=whole,
        status={"enum": [status.value for status in STATUSES]},
        provisional=whole | {"description": "How many of the newest rows the venue has not confirmed yet."},
        time=ms | {"type": ["integer", "null"]},
        mid={"type": ["number", "null"]},
        calls=by_head,
        rows=_array(_object(time=ms, asks=side, bids=side, calls=by_head)),
        trades=_array(_object(time=number, price=number, size=number, side={"enum": ["buy", "sell", None]})),
        outcomes=_array(_object(time=ms, head=text, **{"class": {"enum": [*WHERE_TO]}})),
        marks=_array(_object(time=number, kind={"enum": [*KINDS]}, side={"enum": ["ask", "bid"]}, price=number, size=number)),
        scores={"type": "object", "additionalProperties": score},
    )


def openapi() -> dict[str, Any]:
    """The OpenAPI 3.1 document of what is served here."""
    text = {"type": "string"}
    content = {"application/json": {"schema": _object(markets=_array({"$ref": "#/components/schemas/Step"}))}}
    closed_here = {"403": {"description": "Without the secret of OBSERVATORY_TOKEN."}}
    market = {"name": "market", "in": "query", "required": True, "schema": text, "description": "A market's key, by the state."}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Attention Observatory", "version": "1", "description": "Running markets, their calls and scores."},
        "security": [{"token": []}],
        "paths": {
            STATE: {
                "get": {
                    "summary": "Every running market, as its newest step.",
                    "responses": {"200": {"description": "The markets.", "content": content}, **closed_here},
                }
            },
            STREAM: {
                "get": {
                    "summary": "A websocket: one Step, as text, four times a second. It begins with a snapshot.",
                    "parameters": [market],
                    "responses": {
                        "101": {"description": f"Messages are Steps. At most {MAX_CLIENTS} programs follow at once (else 1013)."},
                        **closed_here,
                    },
                }
            },
        },
        "components": {
            "schemas": {"Step": _step()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
