"""A scene of attention: the thing that a model read, its maps, and what counted for the answer, as one value for one view.

The thing itself is the stage, and light is attention. `AttentionScene.packed` writes everything as one binary message, which
`scripts/view.js` draws: on a page, in a notebook, and in the file that `save` writes.
"""

from __future__ import annotations

import base64
import html
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from attention_light.layers import Layer, LayerMaps, SceneError
from attention_light.message import MessageParts, framed
from attention_light.rollout import rollout
from attention_light.sentences import SENTENCES
from attention_light.stages import Stage, png
from attention_light.thinned import SentLayer

DARK: Final = 0.15
"""Ground of a picture of maps, from 0 to 1."""
FOLDER: Final = Path(__file__).resolve().parent
PARTS: Final = ("colours.js", "dom.js", "layers.js", "stages.js", "files.js", "view.js")
"""Scripts of the view, in the order in which a file of its own joins them."""
INLINE: Final = 500_000
"""Bytes of maps that travel with the first message; the layers of a larger scene are fetched when they are first pointed at."""
THIN: Final = 400_000
"""Bytes of the thinned maps that stand for layers that are not there yet."""
STYLE: Final = "".join((FOLDER / "styles" / name).read_text(encoding="utf-8") for name in ("colours.css", "view.css"))
"""Its style sheets."""


@dataclass(frozen=True, kw_only=True, repr=False)
class AttentionScene:
    """Everything that the view shows.

    Attributes:
        stage: what the model read.
        layers: first layer first.
        start: the token that is chosen at first; where None and no measure lights the stage, the view opens on the strongest pair
            of two tokens that mean something.
        measures: shares of the answer by name, (n,) over the first kind of tokens, or (n, inputs) over a book's moments.
            The first one lights the stage at rest.
        answer: what the model answers, in words.
        titles: names of layers and measures for readers; of a rollout by its name and kind, such as "rollout time".
        rolled: whether the rollout of each kind's layers is a square of its own.
        choice: layer, head and token that a link names, as the view writes them.
        corner: text in the stage's corner.

    Raises:
        SceneError: where maps, measures and the stage's tokens do not fit together.
    """

    stage: Stage
    layers: Sequence[Layer]
    start: int | None = None
    measures: Mapping[str, NDArray[np.floating]] = field(default_factory=dict)
    answer: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)
    rolled: bool = True
    choice: str = ""
    corner: str = ""

    def __post_init__(self) -> None:
        tokens = self.stage.tokens()
        if not self.layers:
            raise SceneError("the scene has no layers: give one map or more")
        for one in self.layers:
            kind = one.kind or next(iter(tokens))
            wanted = (len(tokens.get(one.of or kind, ())), len(tokens.get(kind, ())))
            if len(one.shape) != 3 or one.shape[1:] != wanted:
                raise SceneError(
                    f"the layer {one.name} has weights of shape {one.shape}: "
                    f"heads x {wanted[0]} x {wanted[1]} would fit the stage"
                )
            one.check()
        first = len(next(iter(tokens.values())))
        for name, shares in self.measures.items():
            if not 1 <= shares.ndim <= 2 or shares.shape[0] != first:
                raise SceneError(
                    f"the measure {name} has the shape {shares.shape}: one share for each of {first} tokens is right"
                )

    @cached_property
    def sent(self) -> list[SentLayer]:
        """Layers as they travel, and the rollout of each kind whose tokens look at each other."""
        first = next(iter(self.stage.tokens()))
        apart = sum(one.size for one in self.layers) > INLINE
        cells = THIN // sum(one.shape[0] + 1 for one in self.layers) if apart else 0
        sent = [SentLayer.of(one, self.stage, cells, rolled=self.rolled) for one in self._told_apart()]
        kinds = {one.kind or first for one in self.layers if not one.of} if self.rolled else set()
        for kind in sorted(kinds, key=list(self.stage.tokens()).index):
            means = [one.mean for one in sent if one.mean is not None and not one.layer.of and (one.layer.kind or first) == kind]
            if len(means) > 1:
                whole = LayerMaps(name="rollout", kind=kind, weights=rollout(means)[None].astype(np.float32))
                sent.append(SentLayer.of(whole, self.stage, cells, rolled=False))
        return sent

    def _told_apart(self) -> Iterator[Layer]:
        """The layers, of one name and kind the second and later ones with their number."""
        seen: Counter[tuple[str, str, str]] = Counter()
        for one in self.layers:
            named = one.name, one.kind, one.of
            seen[named] += 1
            yield replace(one, name=f"{one.name} ({seen[named]})") if seen[named] > 1 else one

    def _title(self, layer: Layer) -> str:
        return self.titles.get(f"{layer.name} {layer.kind}") or self.titles.get(layer.name, layer.name)

    def opens(self) -> tuple[int, int, int] | None:
        """Layer, head and query of the strongest pair that means something; None where a measure or `start` lights the stage."""
        if self.measures or self.start is not None or self.choice:
            return None
        strongest, place = max((one.strongest[0], -i) for i, one in enumerate(self.sent[: len(self.layers)]))
        return (-place, *self.sent[-place].strongest[1:]) if strongest > 0 else None

    @cached_property
    def parts(self) -> list[bytes]:
        """Messages of the layers that do not travel with the first one, in the order of the numbers that it has for them."""
        return [one.part() for one in self.sent if one.thin is not None]

    def worded(self, **words: Any) -> Self:
        """The scene with other words: titles, an answer, a stage with other names; its layers are packed once for both."""
        scene = replace(self, **words)
        vars(scene).update(sent=self.sent, parts=self.parts)
        return scene

    def packed(
        self,
        words: Mapping[str, str] | None = None,
        *,
        locale: str = "en",
        key: str = "",
        parts: str = "",
        erased: Sequence[int] | None = None,
        arms: bool = False,
    ) -> bytes:
        """The scene as one message, at most `INLINE` bytes of maps with it: beyond that, layers stay behind as `parts`.

        Args:
            words: `SENTENCES` in the reader's language. locale: of numbers. key: the address's parameter that keeps the choice.
            parts: the address that has each of `parts` below it, by its number.
            erased: tokens of the first kind that are rubbed out; None where the page answers no erasing. arms: whether a stroke
                rubs from the beginning.
        """
        tokens = self.stage.tokens()
        first = next(iter(tokens))
        add = MessageParts()
        behind = itertools.count()
        head = {
            "stage": {"name": self.stage.name} | self.stage.described(add),
            "tokens": tokens,
            "layers": [
                {
                    "name": one.layer.name,
                    "title": self._title(one.layer),
                    "kind": one.layer.kind or first,
                    "of": one.layer.of or one.layer.kind or first,
                    "formula": one.layer.formula,
                    "shape": one.layer.shape,
                }
                | (one.layer.described(add) if one.thin is None else {"part": next(behind), "thin": one.thin.described(add)})
                for one in self.sent
            ],
            "measures": [
                {"name": name, "title": self.titles.get(name, name), "shares": add(np.asarray(shares, dtype=np.float32))}
                for name, shares in self.measures.items()
            ],
            "start": self.start,
            "opens": self.opens(),
            "answer": self.answer,
            "words": {**SENTENCES, **(words or {})},
            "locale": locale,
            "choice": self.choice,
            "key": key,
            "parts": parts,
            "erased": None if erased is None else list(erased),
            "arms": arms,
            "corner": self.corner,
        }
        return framed(head, add)

    def html(self, words: Mapping[str, str] | None = None, *, locale: str = "en", megabytes: float = math.inf) -> str:
        """A page of its own with the view and its numbers, which needs no server.

        Args:
            words: `SENTENCES` in the reader's language. locale: of numbers.
            megabytes: of the layers that are fetched one by one, as many as fit in it; the others are said not to be there.
        """
        room = megabytes * 1e6
        parts = [base64.b64encode(one).decode() if (room := room - len(one) * 4 / 3) >= 0 else None for one in self.parts]
        return (
            "<!doctype html><html><head><meta charset=utf-8><meta name=viewport content='width=device-width'>"
            f"<title>{html.escape(self.answer or self.stage.name)}</title><style>{STYLE}</style></head>"
            f"<body class=attention-page><div id=view></div><script type=module>\n{script()}\n"
            f'mountText("{base64.b64encode(self.packed(words, locale=locale)).decode()}", {json.dumps(parts)});\n'
            "</script></body></html>"
        )

    def save(self, path: str | Path, *, megabytes: float = math.inf) -> Path:
        """Write the view as an HTML file of its own, with as many of a large scene's layers as fit; returns its path."""
        where = Path(path)
        where.write_text(self.html(megabytes=megabytes), encoding="utf-8")
        return where

    def __repr__(self) -> str:
        """One line: what the stage is, how many heads there are, and the strongest pair."""
        tokens = self.stage.tokens()
        kind, names = next(iter(tokens.items()))
        heads = sorted({one.shape[0] for one in self.layers})
        line = f"{len(names)} {kind}s, {len(self.layers)} layers of {' or '.join(map(str, heads))} heads"
        if (opens := self.opens()) is None:
            return line
        layer = self.sent[opens[0]].layer
        row = next(itertools.islice(layer.maps(), opens[1], None))[opens[2]]
        pair = tokens[layer.of or layer.kind or kind][opens[2]], tokens[layer.kind or kind][int(row.argmax())]
        return f"{line}; {layer.name}, head {opens[1] + 1}: {pair[0]} looks at {pair[1]} with {float(row.max()):.1%}"

    def picture(self) -> bytes:
        """A PNG of all maps, a line a layer, for whoever draws no view."""
        side, lines = 40, []
        for one in self.sent:
            line = np.full((side, max(layer.shape[0] for layer in self.layers) * side), DARK, dtype=np.float32)
            for i, weights in enumerate(one.layer.maps()):
                rows, columns = (np.arange(side - 2) * length // (side - 2) for length in weights.shape)
                light = np.asarray(weights, dtype=np.float32)[rows][:, columns]
                line[1:-1, i * side + 1 : (i + 1) * side - 1] = (light / max(light.max(), 1e-12)) ** 0.6
            lines.append(line)
        return png(np.round(255 * np.vstack(lines)).astype(np.uint8))

    def _repr_html_(self) -> str:
        return f'<iframe style="width:100%;height:720px;border:0" srcdoc="{html.escape(self.html())}"></iframe>'


@cache
def script() -> str:
    """All scripts of the view as one, without their imports and exports."""
    lines = [line for name in PARTS for line in (FOLDER / "scripts" / name).read_text(encoding="utf-8").splitlines()]
    return "\n".join(line.removeprefix("export ") for line in lines if not line.startswith("import "))
