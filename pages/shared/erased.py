"""Parts of an input that the reader rubs out of the attention view's stage, and how many change the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from core.explain.erasing import RANDOM_ORDERS, Needed
from pages.shared import url_state
from pages.shared.language import _, number


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

    def keep(tokens: Sequence[int]) -> None:
        st.session_state[key] = [str(one) for one in tokens]

    return keep


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


def needed_table(
    title: str, needed: Needed, names: Mapping[str, str], *, count: int, changed: bool, key: str, first: int = 0
) -> None:
    """Parts that the reader took until the answer changed, and that other ways take, each to be seen on the stage.

    Args:
        names: of the orders of `needed`, for readers. count: parts that the reader has rubbed out; whether it `changed`.
        key: of the session's rubbed out tokens. first: token of the first part.
    """
    st.markdown(title)
    yours = number(count) if changed else _("not yet")
    rows: list[tuple[str, str, tuple[int, ...] | None]] = [(_("**You**"), f"**{yours}**", None)]
    rows += [(names[order], _count(parts), parts) for order, parts in needed.ranked.items()]
    median = needed.random_median
    chance = _("no number of them does") if median == float("inf") else number(median)
    rows.append((_("At random, the median of {count}").format(count=number(RANDOM_ORDERS)), chance, None))
    for place, (who, most, parts) in enumerate(rows):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"{who}: {most}")
            if parts:
                tokens = [part + first for part in parts]
                st.button(_("Show"), key=f"{key}_show_{place}", type="tertiary", on_click=keeper(key), args=(tokens,))


def _count(parts: tuple[int, ...] | None) -> str:
    return _("no number of them does") if parts is None else number(len(parts))
