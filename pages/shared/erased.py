"""Parts of an input that the reader rubs out of the attention view's stage, and what is answered without them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core.explain.attribution import Report
from core.explain.erasing import RANDOM_ORDERS, Needed
from pages.shared import controls, url_state
from pages.shared.language import _, number, percent


def rubbed_out(key: str, count: int, *, of: str) -> list[int]:
    """Tokens of an input, from 0, that are rubbed out; none where they were rubbed out of another input.

    Args:
        key: of the session and of the address. of: what tells inputs apart.
    """
    before = st.session_state.get(f"{key}:of", of)
    if before != of:
        st.session_state[key] = []
    st.session_state[f"{key}:of"] = of
    return url_state.numbers(key, count)


def keeper(key: str) -> Callable[[Sequence[int]], None]:
    """The function that keeps the tokens which the reader has rubbed out."""
    return lambda tokens: st.session_state.update({key: [str(one) for one in tokens]})


def bring_back(key: str) -> None:
    """The button that brings all of them back."""
    st.button(
        _("Bring all back"),
        icon=":material/restart_alt:",
        key=f"{key}_back",
        on_click=keeper(key),
        args=([],),
        disabled=not st.session_state.get(key),
    )


@dataclass(frozen=True, kw_only=True)
class ErasedAnswer:
    """The answer on what is left of an input.

    Attributes:
        key: of the session's rubbed out tokens. hidden: those, from 0. count: parts of the whole. first: token of the first part.
        before, after: the answers on the whole and on the rest. shares: probability of the first one on either, None without any.
        instead: a sentence on what the model reads in place of a part.
        orders: names of the orders of `Needed` for readers.
    """

    key: str
    hidden: Sequence[int]
    count: int
    before: str
    after: str
    shares: tuple[float, float] | None
    instead: str
    orders: Mapping[str, str]
    first: int = 0

    def sentence(self) -> str:
        """The change of the answer in words, Markdown."""
        if self.shares is None:
            same = _("Without {count} of {all} parts it still reads **{before}**.")
            another = _("Without {count} of {all} parts it reads **{after}** instead of **{before}**.")
        else:
            same = _("Without {count} of {all} parts it is still **{before}**: {high} before, {low} now.")
            another = _("Without {count} of {all} parts it is **{after}**: **{before}** has {low} instead of {high}.")
        high, low = self.shares or (0.0, 0.0)
        return (same if self.before == self.after else another).format(
            count=number(len(self.hidden)),
            all=number(self.count),
            before=self.before or _("nothing"),
            after=self.after or _("nothing"),
            high=percent(high),
            low=percent(low),
        )

    def corner(self, needed: Needed | None = None) -> str:
        """The same for the stage's corner, with what others need where that is known; empty where nothing is rubbed out."""
        if not self.hidden:
            return ""
        others = [f"{self.orders[order]}: {_count(parts)}" for order, parts in (needed.ranked if needed else {}).items()]
        return " · ".join([self.sentence().replace("**", ""), *others])

    def draw(self, needed: Callable[[Report], Needed | None]) -> None:
        """The change, and beside it how many parts other ways need.

        Args:
            needed: asks for these; None where they cannot be known, which it has said.
        """
        change, table = st.columns([3, 2], gap="medium")
        with change:
            if self.hidden:
                st.markdown(self.sentence())
            st.caption(self.instead)
            bring_back(self.key)
        with table:
            with controls.progress(_("Asking again without one part after another…")) as report:
                found = needed(report)
            if found is not None:
                self._table(found)

    def _table(self, needed: Needed) -> None:
        """Parts that the reader took until the answer changed, and that other ways take, each to be seen on the stage."""
        st.markdown(_("**Parts until the answer changes**, of {count}").format(count=number(self.count)))
        yours = number(len(self.hidden)) if self.before != self.after else _("not yet")
        rows: list[tuple[str, str, tuple[int, ...] | None]] = [(_("**You**"), f"**{yours}**", None)]
        rows += [(self.orders[order], _count(parts), parts) for order, parts in needed.ranked.items()]
        median = needed.random_median
        chance = _("no number of them does") if median == float("inf") else number(median)
        rows.append((_("At random, the median of {count}").format(count=number(RANDOM_ORDERS)), chance, None))
        for place, (who, most, parts) in enumerate(rows):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"{who}: {most}")
                if parts:
                    tokens = [part + self.first for part in parts]
                    label, key = _("Show"), f"{self.key}_show_{place}"
                    st.button(label, key=key, type="tertiary", on_click=keeper(self.key), args=(tokens,))


def _count(parts: tuple[int, ...] | None) -> str:
    return _("no number of them does") if parts is None else number(len(parts))
