"""The attention view's scene on a page by Streamlit's own test runner, read by a second reader of its message."""

import json
import re
import struct
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from core.lecture.equations import equations


def scene_of(app: AppTest) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The head of the one scene on the page, and its weights and measures by name."""
    protos = (getattr(element, "proto", None) for element in app)
    (message,) = [
        one.bytes for one in protos if re.search(r"attention_(component|told)", str(getattr(one, "component_name", "")))
    ]
    (length,) = struct.unpack_from("<I", message)
    head = json.loads(message[4 : 4 + length])
    assert {one["formula"] for one in head["layers"] if one["name"] != "rollout"} <= {entry.id for entry in equations()}
    arrays = {}
    for one in [*head["layers"], *head["measures"]]:
        place = one.get("weights") or one["shares"]
        start = 4 + length + place["at"]
        name = f"{one['name']} {one['kind']}" if one["name"] == "rollout" else one["name"]
        arrays[name] = np.frombuffer(message[start : start + place["bytes"]], place["type"]).reshape(place["shape"])
    return head, arrays
