"""The plot component's Python side; what the browser does with it is in tests/browser."""

import json
from typing import Any

from streamlit.testing.v1 import AppTest

from pages.shared.navigation import ROOT


def frames(app: AppTest) -> list[dict[str, Any]]:
    """The messages that the component was given."""
    found = [json.loads(element.proto.json) for element in app.get("bidi_component")]
    return [message | {"figure": json.loads(message["figure"])} for message in found]


def test_the_demonstration_runs_without_a_browser() -> None:
    app = AppTest.from_file(str(ROOT / "tests" / "browser" / "apps" / "plots.py"), default_timeout=30).run()
    assert not app.exception
    moving, still = frames(app)
    assert [trace["type"] for trace in moving["figure"]["data"]] == ["heatmap", "scatter"]
    assert moving["chrome"]["alt"] == "A sine wave that moves" and moving["chrome"]["clicks"] is True
    assert still["chrome"]["clicks"] is False
    assert still["chrome"]["height"] == 240 and still["chrome"]["filename"] == "sine"
