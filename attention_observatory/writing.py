"""`write_words`: a text, what SmolLM2 writes after it, and what it would write next."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_observatory.extras import module_of_extra, of_extra
from core.messages import BadValue
from core.words.writer import ENDS, MAX_TOKENS, SHOWN, choose, scene_of, writer

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go
    from numpy.typing import NDArray

    from attention_light import AttentionScene


@dataclass(frozen=True, kw_only=True, eq=False)
class WrittenText:
    """A text, what the model wrote after it, and what it would write next.

    Attributes:
        text: as it was given, with what was written after it.
        tokens: its n pieces with their spaces; a byte that is no character alone as "<0xF0>".
        weights: (layers, heads, n, n), rows summing to 1, 0 where a token would look ahead.
        next: every token that may follow with its probability, likeliest first.
        log_probability: natural logarithm of the probability of the tokens after the first one, given those before each.
    """

    text: str
    tokens: list[str]
    weights: NDArray[np.float32]
    next: list[tuple[str, float]]
    log_probability: float

    def __repr__(self) -> str:
        shown = ", ".join(f"{token!r} {share:.1%}" for token, share in self.next[:5])
        return f"{self.text!r}, then {shown}"

    def to_frame(self) -> pd.DataFrame:
        """A row a token that may follow: the token, its probability; the likeliest first."""
        import pandas as pd

        return pd.DataFrame(self.next, columns=["token", "probability"])

    def scene(self, **more: Any) -> AttentionScene:
        """The text as a scene; see `AttentionScene` for the arguments."""
        return scene_of(self.tokens, self.weights, **more)

    def plot(self) -> go.Figure:
        """The likeliest next tokens by probability, and all others together."""
        figures = module_of_extra("core.figures.pictures", "plots")
        names, shares = zip(*self.next[:SHOWN], strict=True)
        return figures.ranking_figure(
            [*(f"“{name}”" for name in names), "all others"], np.array([*shares, max(0.0, 1 - sum(shares))])
        )


def write_words(text: str, *, tokens: int = 0, temperature: float = 0.0, seed: int = 0) -> WrittenText:
    """The text with what SmolLM2 writes after it, its attention, and what it would write next.

    Args:
        tokens: to write; fewer are written where the model ends the text.
        temperature: 0 writes the likeliest token each time. seed: above temperature 0 the same seed writes the same.

    Raises:
        BadValue: for an empty text, one of over 512 tokens with those to write, or a temperature or seed below 0.
        MissingModels: where `make writer` has not been run.
    """
    if not (math.isfinite(temperature) and temperature >= 0) or seed < 0:
        raise BadValue("temperature and seed must be 0 or more, not {temperature} and {seed}", temperature=temperature, seed=seed)
    if not 0 <= tokens < MAX_TOKENS:
        raise BadValue("{count} tokens cannot be written: 0 to {most} can", count=tokens, most=MAX_TOKENS - 1)
    with of_extra("words"):
        one = writer()
    state = one.begin(one.ids(text, most=MAX_TOKENS - tokens))
    written = b""
    for _ in range(tokens):
        token = choose(state.scores, temperature=temperature, seed=seed, place=len(state.ids))
        if token in ENDS:
            break
        one.append(state, token)
        written += one.pieces[token]
    shares = np.exp(state.scores)
    return WrittenText(
        text=text + written.decode(errors="replace"),
        tokens=[one.names[token] for token in state.ids],
        weights=state.weights,
        next=[(one.names[token], float(shares[token])) for token in np.argsort(-shares, kind="stable")],
        log_probability=one.log_probability(state),
    )
