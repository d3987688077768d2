"""The attention view on a page: an `AttentionScene`, drawn and answered in the browser."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st
from starlette.requests import Request
from starlette.responses import Response

from attention_light import AttentionScene
from attention_light.sentences import SENTENCES
from core.store import BoundedStore, Limit
from pages.shared import streamlit_private
from pages.shared.browser_component import browser_component
from pages.shared.language import _, regional

PARTS = "light"
"""Address of the layers that a page's message leaves behind."""
_kept: BoundedStore[list[bytes]] = BoundedStore(
    key=lambda parts: hashlib.sha256(b"".join(parts)).hexdigest()[:24],
    size=lambda parts: sum(map(len, parts)),
    limit=Limit(total=64, visitor=2),  # a view's last scene, and the one before it, which may be asked for meanwhile
    max_bytes=256_000_000,
)


def stage_place() -> Any:
    """A container that has the stage's height, dark, before its view is there: what stands below is not pushed down."""
    place = st.container(key="light_place")
    place.empty()  # the browser draws no container that has nothing in it
    return place


def attention_view(
    scene: AttentionScene,
    *,
    key: str,
    erased: Sequence[int] = (),
    on_erase: Callable[[list[int]], None] | None = None,
    arms: bool = False,
    on_keep: Callable[[str], None] | None = None,
) -> None:
    """Draw a scene. One that is kept between runs, as by `st.cache_resource`, packs its large layers once.

    Args:
        key: of the component, and of the address's parameter that keeps layer, head and token.
        erased: tokens of the first kind, from 0, rubbed out. on_erase: takes those after the reader has rubbed others out
            or brought some back; without it nothing can be rubbed out. arms: whether a stroke rubs from the beginning.
        on_keep: takes the choice as the address has it, "layer.head.token", each time that the reader presses; the page then
            runs again.
    """
    words = {name: _(sentence) for name, sentence in SENTENCES.items()}

    def rubbed() -> None:
        sent = st.session_state[key].get("erased")
        count = len(next(iter(scene.stage.tokens().values())))
        if on_erase is not None and isinstance(sent, list):
            on_erase(sorted({one for one in sent if isinstance(one, int) and 0 <= one < count}))

    view = f"{streamlit_private.tab()}/{key}"
    parts = f"{PARTS}/{_kept.keep(scene.parts, (view, ''))}" if scene.parts else ""
    rubbed_out = None if on_erase is None else erased
    message = scene.packed(words, locale=regional(), key=key, parts=parts, erased=rubbed_out, arms=arms)

    def kept() -> None:
        if on_keep is not None:
            on_keep(str(st.session_state[key].get("kept") or ""))

    component = browser_component("attention_component" if on_keep is None else "attention_told")
    component(key=key, data=message, on_erased_change=rubbed, on_kept_change=kept)


def send_part(request: Request) -> Response:
    """A layer that was left behind, by its scene's hash and its number; 404 where it is not kept (any longer)."""
    parts = _kept.find(request.path_params["scene"]) or []
    number = request.path_params["number"]
    if number >= len(parts):
        return Response(status_code=404)
    return Response(parts[number], media_type="application/octet-stream", headers={"Cache-Control": "private, max-age=86400"})
