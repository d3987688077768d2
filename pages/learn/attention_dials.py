"""What the attention-steps page asks for: words or numbers, weights, a query, heads, masks and a temperature."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, cast

import streamlit as st

from core.explain.summaries import even_entropy, strongest
from core.lecture import attention_steps, tokens
from core.lecture.attention_steps import Mask, Steps
from pages.learn import frame, matrix_editor
from pages.learn.frame import Dial
from pages.shared import url_state
from pages.shared.language import _, number, significant

WIDTH: Final = 4
SENTENCE: Final = "the cat sat on the mat"
QUERY: Final = "q"
KEYS: Final = {"X": "x", "W_Q": "wq", "W_K": "wk", "W_V": "wv", "W_O": "wo"}
"""URL parameter of each matrix's edits."""


@dataclass(frozen=True, kw_only=True)
class AttentionChoices:
    """The page's choices.

    Attributes:
        words: as typed. names: the words, each different. x: (n, 4). weights: by name, edits included.
        query, head: counted from 0. mask: (n, n), True where a query may look. kind, window, kept: what it was made from.
    """

    sentence: str
    names: list[str]
    seed: int
    x: Any
    weights: dict[str, Any]
    query: int
    heads: int
    head: int
    mask: Any
    kind: Mask
    window: int
    kept: int
    temperature: float

    @property
    def count(self) -> int:
        """Tokens."""
        return len(self.names)

    @property
    def even_entropy(self) -> float:
        """Of a query that looks at all tokens alike, nats."""
        return even_entropy(self.count)

    def strongest(self, found: Steps) -> int:
        """The key the query looks at most."""
        return strongest(found.weights[self.head, self.query], 1)[0][0]

    def snippet(self) -> dict[str, Any]:
        """Values for the page's snippet."""
        edits = {name: matrix_editor.current(key, (self.count if name == "X" else WIDTH, WIDTH)) for name, key in KEYS.items()}
        return {
            "SENTENCE": self.sentence,
            "HEADS": self.heads,
            "MASK": self.kind,
            "WINDOW": self.window,
            "KEPT": self.kept,
            "TEMPERATURE": self.temperature,
            "SEED": self.seed,
            "EDITS": {name: one for name, one in edits.items() if one},
        }


def write(value: float) -> str:
    """Two decimals, in the reader's language."""
    return number(round(value, 2) + 0.0, 2)


def read_query(row: int) -> None:
    """Make this row the query, before the dials are drawn."""
    st.session_state[QUERY] = str(row)


def ask(part: str) -> AttentionChoices:
    """Draw the dials of a part.

    Raises:
        TokenError: for words that cannot be used.
    """
    words: list[str] = []

    def write_words() -> str:
        sentence = st.text_input(_("Words, with blanks between"), SENTENCE, key="words", bind="query-params", max_chars=120)
        words[:] = tokens.split(sentence)
        return sentence

    def pick_query() -> int:
        names = {str(index): name for index, name in enumerate(tokens.numbered(words))}
        return int(url_state.choice(st.segmented_control, _("Query"), names, key=QUERY, required=True))

    def pick_head() -> int:
        count = int(st.session_state.get("heads") or 1)
        return int(
            url_state.choice(
                st.segmented_control, _("Head"), {str(i): str(i + 1) for i in range(count)}, key="head", required=True
            )
        )

    masks = {
        "none": _("No mask"),
        "causal": _("Causal"),
        "window": _("Window"),
        "padding": _("Padding"),
        "causal_padding": _("Causal and padding"),
    }
    offered = {
        "words": Dial(_("Words"), write_words),
        QUERY: Dial(_("Query"), pick_query, shown=lambda index: tokens.numbered(words)[index]),
        "t": Dial(
            _("Temperature"),
            lambda: float(
                url_state.choice(
                    st.select_slider,
                    _("Temperature τ"),
                    {code: significant(float(code)) for code in TEMPERATURES},
                    key="t",
                    default="1",
                )
            ),
        ),
        "mask": Dial(
            _("Mask"),
            lambda: url_state.choice(st.segmented_control, _("Mask"), masks, key="mask", required=True),
            shown=lambda code: masks[code],
        ),
        "w": Dial(_("Window"), lambda: url_state.slider(_("Window: keys to either side"), 0, 11, key="w", default=1)),
        "kept": Dial(_("Padding"), lambda: url_state.slider(_("Real tokens; the rest is padding"), 1, 12, key="kept", default=4)),
        "heads": Dial(
            _("Heads"),
            lambda: int(
                url_state.choice(st.segmented_control, _("Heads"), {"1": "1", "2": "2", "4": "4"}, key="heads", required=True)
            ),
        ),
        "head": Dial(_("Head shown"), pick_head, shown=lambda index: str(index + 1)),
        "seed": Dial(_("Draw"), lambda: url_state.slider(_("Draw of words and weights"), 0, 20, key="seed", default=0)),
    }
    first = {"project": "words", "scores": QUERY, "softmax": "t", "sum": QUERY, "heads": "heads"}[part]
    found = frame.dials("dial", offered, first=first)
    count = len(words)
    kept = min(found["kept"], count)
    kind = cast(Mask, found["mask"])
    drawn = attention_steps.drawn_weights(WIDTH, seed=found["seed"])
    asked = AttentionChoices(
        sentence=found["words"],
        names=tokens.numbered(words),
        seed=found["seed"],
        x=tokens.embed(words, WIDTH, seed=found["seed"]),
        weights=drawn,
        query=min(found[QUERY], count - 1),
        heads=found["heads"],
        head=min(found["head"], found["heads"] - 1),
        mask=attention_steps.look_mask(kind, count, window=found["w"], kept=kept),
        kind=kind,
        window=found["w"],
        kept=kept,
        temperature=found["t"],
    )
    return asked if part == "project" else with_edits(asked)


TEMPERATURES: Final = ("0.05", "0.1", "0.2", "0.5", "0.7", "1", "1.5", "2", "5", "10", "50")


def editors(asked: AttentionChoices) -> None:
    """The tokens and the weights as tables to type in."""
    with frame.controls_block("editors"), st.expander(_("Edit the numbers"), icon=":material/edit:"):
        channels = [str(index + 1) for index in range(WIDTH)]
        shown = [("X", asked.x), *((name, asked.weights[name]) for name in ("W_Q", "W_K", "W_V"))]
        for column, (name, values) in zip([*st.columns(2), *st.columns(2)], shown, strict=True):
            with column:
                rows = asked.names if name == "X" else [f"{index}·" for index in channels]
                matrix_editor.editor(values, key=KEYS[name], label=name, rows=rows, columns=channels)


def with_edits(asked: AttentionChoices) -> AttentionChoices:
    """The same choices with the edited numbers in them."""
    return replace(
        asked,
        x=matrix_editor.edited(asked.x, key=KEYS["X"]),
        weights={name: matrix_editor.edited(values, key=KEYS[name]) for name, values in asked.weights.items()},
    )
