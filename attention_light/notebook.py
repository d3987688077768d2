"""The view as an anywidget: in Jupyter, JupyterLab, VS Code, marimo and Colab, without an iframe, in the notebook's theme."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from attention_light.scene import FOLDER, STYLE, AttentionScene, script


class LightView(anywidget.AnyWidget):
    """A scene in a notebook.

    Attributes:
        layer: number of the layer in force, from 0. head: number of its head, from 0, or "mean" or "rollout".
        token: number of the token that is chosen. erased: numbers of tokens of the first kind that are rubbed out.
            All four change with what a reader does, and what is set is shown.
        scene: what is shown; another one may be set.
    """

    _esm = f"{script()}\n{(FOLDER / 'scripts' / 'notebook.js').read_text(encoding='utf-8')}"
    _css = STYLE
    _message = traitlets.Bytes().tag(sync=True)
    layer = traitlets.Int(0).tag(sync=True)
    head = traitlets.Union([traitlets.Int(), traitlets.Unicode()], default_value=0).tag(sync=True)
    token = traitlets.Int(0).tag(sync=True)
    erased = traitlets.List(traitlets.Int()).tag(sync=True)

    def __init__(self, scene: AttentionScene) -> None:
        self._answers: Callable[[list[int]], Any] | None = None
        self._scene = scene
        opens = scene.opens() or (len(scene.layers) - 1, "mean" if scene.layers[-1].shape[0] > 1 else 0, scene.start or 0)
        super().__init__(layer=opens[0], head=opens[1], token=opens[2], _message=scene.packed())
        self.on_msg(self._send_part)
        self.observe(self._rubbed, names="erased")

    @property
    def scene(self) -> AttentionScene:
        """State of the view that is shown."""
        return self._scene

    @scene.setter
    def scene(self, scene: AttentionScene) -> None:
        self._scene = scene
        self._message = scene.packed(erased=None if self._answers is None else self.erased)

    def on_erase(self, answer: Callable[[list[int]], AttentionScene | None]) -> None:
        """Let tokens be rubbed out: `answer` takes their numbers, runs the model again, and returns the scene that follows."""
        self._answers = answer
        self._message = self._scene.packed(erased=self.erased)

    def save(self, path: str | Path, *, megabytes: float = math.inf) -> Path:
        """Write the view as an HTML file of its own, as `AttentionScene.save` does."""
        return self._scene.save(path, megabytes=megabytes)

    def _send_part(self, _widget: Any, content: dict[str, Any], _buffers: Sequence[Any]) -> None:
        number = content.get("part")
        if isinstance(number, int):
            there = 0 <= number < len(self._scene.parts)
            self.send({"part": number}, [self._scene.parts[number]] if there else [])

    def _rubbed(self, change: Any) -> None:
        if self._answers is not None and (scene := self._answers(list(change["new"]))) is not None:
            self.scene = scene

    def __repr__(self) -> str:
        return repr(self._scene)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, a line of text, and for whoever draws neither widgets nor scripts a picture."""
        bundle = super()._repr_mimebundle_(**options)
        if bundle is None:
            return None
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, "text/plain": repr(self), "image/png": base64.b64encode(self._scene.picture()).decode()}, metadata
