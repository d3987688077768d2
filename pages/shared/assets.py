"""Files the browser fetches from the app itself, under `/assets`: our scripts, and plotly.js from the installed package."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

from plotly.offline import get_plotlyjs_version
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

SCRIPTS: Final = Path(__file__).resolve().parents[2] / "assets" / "scripts"
PLOTLY: Final = f"/assets/plotly.min.js?v={get_plotlyjs_version()}"


class Assets(StaticFiles):
    """Both folders as one. Addresses carry a version, so the browser may keep what it got."""

    def __init__(self) -> None:
        super().__init__(directory=SCRIPTS, packages=[("plotly", "package_data")])

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, uncompressed: it travels over the loopback, and compressing 4.8 MB anew costs more than it saves."""
        response = await super().get_response(path, scope)
        if response.status_code in (200, 304):
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
            response.headers["Content-Encoding"] = "identity"
        return response


@cache
def script(name: str) -> str:
    """Address of one of our scripts, with its digest as version."""
    return f"/assets/{name}?v={hashlib.sha256((SCRIPTS / name).read_bytes()).hexdigest()[:12]}"
