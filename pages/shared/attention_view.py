"""The attention view on a page: a scene of `core.explain.scene`, drawn and answered in the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from core.explain.scene import SENTENCES, AttentionScene
from pages.shared.browser_component import browser_component
from pages.shared.language import _, regional


def attention_view(
    scene: AttentionScene, *, key: str, erased: Sequence[int] = (), on_erase: Callable[[list[int]], None] | None = None
) -> None:
    """Draw a scene.

    Args:
        key: of the component, and of the address's parameter that keeps layer, head and token.
        erased: tokens of the first kind, from 0, rubbed out. on_erase: takes those after the reader has rubbed others out
            or brought some back; without it nothing can be rubbed out.
    """
    words = {name: _(sentence) for name, sentence in SENTENCES.items()}

    def rubbed() -> None:
        sent = st.session_state[key].get("erased")
        count = len(next(iter(scene.stage.tokens().values())))
        if on_erase is not None and isinstance(sent, list):
            on_erase(sorted({one for one in sent if isinstance(one, int) and 0 <= one < count}))

    message = scene.packed(words, locale=regional(), key=key, erased=None if on_erase is None else erased)
    browser_component("attention_component")(key=key, data=message, on_erased_change=rubbed)
