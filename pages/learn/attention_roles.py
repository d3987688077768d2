"""A part of the lesson on attention: the roles of queries, keys and values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from core.figures.learn.attention_steps import grouped_bars
from core.lecture import attention_steps, tokens
from pages.learn.frame import Worked, choice, passage, slider, tex
from pages.learn.lesson_page import PartView, check, plot, word_matrix, written
from pages.shared.language import N_, _, significant

SENTENCE: Final = N_("the cat sat on the mat")
WIDTH: Final = 4
MAP: Final[Mapping[str, Any]] = {"signed": False, "top": 1.0}
"""A matrix of attention weights."""


def words() -> list[str]:
    """The sentence's words, each different."""
    return tokens.unique_names(tokens.split_words(_(SENTENCE)))


def role_names() -> dict[str, str]:
    """Each role of a word, by its name on the page."""
    return {"v": _("the value"), "k": _("the key"), "q": _("the query")}


def roles(
    role: Annotated[attention_steps.Role, choice(_("Multiply"), role_names(), key="role")],
    word: Annotated[int, choice(_("Word"), dict(zip("012345", words(), strict=True)), key="role_word", default="1", value=int)],
    factor: Annotated[float, slider(_("Factor"), -3.0, 3.0, key="role_factor", default=2.0, step=0.5)],
) -> PartView:
    """One word's query, key or value is made longer: which numbers move."""
    names = words()
    x, weights = tokens.embed(tokens.split_words(_(SENTENCE)), WIDTH), attention_steps.random_weights(WIDTH)
    looks, output = attention_steps.role_study(x, weights, role=role, word=word, factor=factor)
    bars = grouped_bars(
        {_("before"): output.before[word], _("afterwards"): output.after[word]},
        x_title=_("Channel"),
        y_title=_("Output of this word"),
    )
    untouched = _("Values take no part in relevance: the weights changed by {value}.").format(value=written(looks.largest, -1))
    note = _("{what} of “{word}” times {factor}")
    return PartView(
        equation=Worked(
            r"Z = \underbrace{\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right)}_{A:\ \text{Q, K}}\; V",
            rf"\begin{{aligned}} \max \lvert \Delta A \rvert &= {tex(looks.largest)} \\ "
            rf"\max \lvert \Delta Z \rvert &= {tex(output.largest)} \end{{aligned}}",
            note.format(what=role_names()[role], word=names[word], factor=significant(factor)),
        ),
        figure=[
            [
                word_matrix(looks.after, _("A afterwards"), "role_weights", names, names, **MAP),
                word_matrix(looks.after - looks.before, _("A afterwards − A before"), "role_change", names, names),
            ],
            plot(bars, "role_output", _("The word's output before and afterwards, channel by channel.")),
            check(untouched, looks.largest == 0) if role == "v" else None,
        ],
        asked=lambda: (_("the largest change of a weight"), looks.largest),
        notes=[passage("attention_steps", f"role_{role}")],
    )
