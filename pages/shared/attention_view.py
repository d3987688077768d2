"""The attention view on a page: a scene of `core.explain.scene`, drawn and answered in the browser."""

from __future__ import annotations

from core.explain.scene import SENTENCES, AttentionScene
from pages.shared.browser_component import browser_component
from pages.shared.language import _, regional


def attention_view(scene: AttentionScene, *, key: str) -> None:
    """Draw a scene.

    Args:
        key: of the component, and of the address's parameter that keeps layer, head and token.
    """
    words = {name: _(sentence) for name, sentence in SENTENCES.items()}
    browser_component("attention_component")(key=key, data=scene.packed(words, locale=regional(), key=key))
