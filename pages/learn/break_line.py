"""Break this line: a part computed with one line of its code broken, what moved by it, and the test that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import streamlit as st

from core.lecture import breaks
from core.lecture.breaks import Break
from core.lecture.moved import compare
from core.messages import translate
from pages.learn import frame
from pages.shared import url_state
from pages.shared.language import _, number

KEY: Final = "break"


def choose(url: str, part: str) -> Break | None:
    """The reader's choice of a line, in a box; None for the code as it is."""
    offered = {one.code: one for one in breaks.of_part(url, part)}
    if not offered:
        return None
    named = {"none": _("As it is")} | {code: translate(one.title) for code, one in offered.items()}
    broken = None
    with (
        frame.controls_block("break"),
        st.expander(_("Break this line"), icon=":material/handyman:", expanded=KEY in st.query_params),
    ):
        st.caption(_("One line of the code that computed this page, broken for you alone: look what notices it."))
        code = url_state.choice(st.pills, _("What is wrong"), named, key=KEY, required=True, label_visibility="collapsed")
        if (broken := offered.get(code)) is not None:
            st.markdown(f"`{broken.line.where}`")
            st.code(f"- {broken.line.text}\n+ {broken.broken}", language="diff")
            st.markdown(_("This test fails with it:"))
            st.code(f"python -m pytest {broken.test}", language="bash")
    return broken


def chosen() -> bool:
    """Tells whether a line is broken, before the box is drawn."""
    return str(st.session_state.get(KEY) or st.query_params.get(KEY, "none")) != "none"


def banner(one: Break) -> str:
    """Says above the figure that its numbers are a broken line's."""
    told = _("**Broken on purpose: {title}.** Everything on this page is computed with {line} until you mend it.")
    return told.format(title=translate(one.title), line=f"`{one.broken.partition('  #')[0]}`")


def changes(before: Sequence[Any], after: Sequence[Any], write: Callable[[float, int], str]) -> Iterator[str]:
    """A sentence for each piece of the page that the broken line moved, pieces in the page's order.

    Args:
        before, after: pieces with `name`, `values` (of a matrix, else None) and `html`. write: see `Write`.
    """
    for one, other in zip(before, after, strict=False):
        if one.name and one.values is not None and one.values.shape == other.values.shape:
            moved = compare(one.values, other.values)
            if moved.rows:
                count, size = number(int(moved.cells.sum())), number(moved.cells.size)
                was, now = (write(float(values[moved.most]), -1) for values in (one.values, other.values))
                told = _("**{name}**: {count} of {all} numbers moved, most {was} → {now}.")
                yield told.format(name=one.name, count=count, all=size, was=was, now=now)
        elif one.name and one.html() != other.html():
            yield other.name if one.name != other.name else _("**{name}** changed.").format(name=one.name)


def tell(one: Break, moved: Sequence[str]) -> None:
    """Lists what moved; where nothing did, the dial with which it shows."""
    st.warning(banner(one), icon=":material/handyman:")
    if not moved and one.shows:
        at = ", ".join(f"{key}={value}" for key, value in one.shows.items())
        st.markdown(_("Nothing moves at these dials, and no eye would notice. It shows at [{at}]({link}).").format(
            at=at, link=f"?{'&'.join(f'{k}={v}' for k, v in (st.query_params.to_dict() | dict(one.shows)).items())}"
        ))  # fmt: skip
    elif moved:
        st.markdown("\n".join(f"- {line}" for line in moved))
    else:
        st.markdown(_("Nothing moves at these dials: only the test notices."))
