"""Things to take along from a view: its notebook, a handout to print, its frame for another page, and a QR code of its link."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Final
from urllib.parse import urlencode

import segno
import streamlit as st

from core.lecture import handout, notebooks
from core.lecture.handout import Handout
from pages.shared import controls
from pages.shared.language import _, current, regional, significant, speaking

OPENED: Final = "take_along"
"""Session state: whether the box is open."""
ASKED: Final = "ON_SCREEN"
"""The template's variable that holds the numbers on screen, by name."""
COLAB: Final = "https://colab.research.google.com/"
MARIMO: Final = "https://marimo.new"
MASK: Final = 2
EMBED_HEIGHT: Final = 620
LONGEST: Final = 160
"""Characters of a line of code on display."""

EMBED_CSS: Final = """
[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"], .st-key-frame_controls,
[class*="st-key-learn_controls_foot"], [class*="st-key-learn_controls_lesson"], [data-testid="stHeading"],
[class*="st-key-lesson_"]:not([class*="st-key-lesson_dials"]), .st-key-learn_diagram, .st-key-predict,
[data-testid="stAlert"], [data-testid="stExpander"],
[data-testid="stMain"] [data-testid="stElementContainer"]:has(> [data-testid="stMarkdown"]),
[data-testid="stMain"] [data-testid="stElementContainer"]:has(> [data-testid="stButtonGroup"][class*="stretch"]),
[data-testid="stMain"] [data-testid="stDataFrame"], .st-key-part,
[data-testid="stMain"] [data-testid="stElementContainer"]:has(> [data-testid="stDownloadButton"]),
[data-testid="stMain"] [data-testid="stHtml"]:not(:has(.matrix)) { display: none !important; }
[data-testid="stMain"] [class*="st-key-learn_controls"] [data-testid="stElementContainer"] { display: flex; }
[data-testid="stMainBlockContainer"] { padding: 0.5rem 0.75rem !important; }
"""
"""In another page's frame: the figure and the dials, nothing else."""


def embedded() -> bool:
    """Tells whether the view is shown in another page's frame (`?embed=true`)."""
    return bool(getattr(st.context, "is_embedded", False))


def hide_around() -> None:
    """Hide all but figure and dials where the view is in another page's frame."""
    if embedded():
        st.html(f"<style>{EMBED_CSS}</style>")


def address(**parameters: str) -> str:
    """The view's address with its choices, and these parameters."""
    return f"{st.context.url or ''}?{urlencode(st.query_params.to_dict() | parameters)}"


@lru_cache(maxsize=256)
def qr_code(text: str) -> str:
    """A QR code as an image, HTML, black on white, its quiet zone included: Streamlit leaves no SVG in HTML.

    One of the eight masks is taken, as any is legible: to compare them all took up to a fifth of a dial's time.
    """
    code = segno.make(text, error="m", micro=False, mask=MASK)
    return f'<img alt="" src="{code.svg_data_uri(border=4, light="#fff", scale=8)}" style="width:100%">'


def frame_code(title: str) -> str:
    """The iframe that shows the view in another page, HTML."""
    link = html.escape(address(embed="true"), quote=True)
    return (
        f'<iframe src="{link}" title="{html.escape(title, quote=True)}" width="100%" height="{EMBED_HEIGHT}" '
        'style="border:0" loading="lazy"></iframe>'
    )


def _cut(code: str) -> str:
    """The code as it is shown: long lines of data end in dots, as only the downloads need them whole."""
    return "\n".join(line if len(line) <= LONGEST else f"{line[:LONGEST]} …" for line in code.splitlines())


def _plain(markdown: str) -> str:
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"[*`$]|\\\\", "", markdown))


def sheet(made: Handout, values: Mapping[str, Any], *, link: str | None = None) -> Callable[[], str]:
    """A function that writes a view's handout, HTML; it needs no session, as a download is made without one.

    Args:
        link: to the view; its address where None, none where empty.
    """
    link = address() if link is None else link
    content = replace(
        made, lead=_plain(made.lead), look=_plain(made.look), address=link, qr=qr_code(link) if link else "",
        given={key: value for key, value in values.items() if key != ASKED}, asked=values.get(ASKED, {}),
    )  # fmt: skip
    language = regional()

    def write() -> str:
        with speaking(language):
            return handout.page(content, current(), partial(significant, digits=4))

    return write


def offer(page: str, part: str, made: Callable[[], Handout], values: Callable[[], Mapping[str, Any]]) -> None:
    """The code of a part's view, and everything to take along, made once the reader opens the box.

    Args:
        page, part: names of the view's template. made: its handout without numbers and address; `lead` and `look` in Markdown.
        values: for the template.
    """
    if (box := controls.opened(_("Take it along"), icon=":material/backpack:", key=OPENED)) is not None:
        with box:
            _downloads(page, part, made(), values())


def _downloads(page: str, part: str, made: Handout, values: Mapping[str, Any]) -> None:
    code, write = notebooks.fill(notebooks.template(page, part), values), sheet(made, values)
    label = f"{made.title}: {made.part}" if made.part else made.title
    name = f"{page}-{part}" if part else page
    heading = f"# {label}\n\n{address()}"
    st.caption(_("Numpy or PyTorch is all it needs. Its last lines assert that it finds the numbers that are on this screen."))

    def download(button: str, make: Callable[[], str], kind: str, suffix: str, mime: str) -> None:
        key, filename = f"{name}_{kind}", f"{name}.{suffix}"
        controls.download_bytes(button, lambda: make().encode(), key=key, filename=filename, mime=mime)

    with st.container(horizontal=True):
        whole = "application/x-ipynb+json"
        download(_("Notebook (.ipynb)"), lambda: notebooks.notebook(code, heading), "notebook", "ipynb", whole)
        download(_("Script (.py)"), lambda: code, "snippet", "py", "text/x-python")
        download(_("Handout for two, to print (A4)"), write, "handout", "html", "text/html")
    st.code(_cut(code), language="python", height=360)
    st.markdown(
        _(
            "**[Colab]({colab})** opens notebooks from your own disk: download the notebook, open the page, and choose "
            "File → Upload notebook. **marimo:** `uvx marimo convert {file}.ipynb -o {file}.py`, then "
            "`uvx marimo edit {file}.py`; code that needs numpy alone also runs in the browser, pasted at "
            "[marimo.new]({marimo})."
        ).format(colab=COLAB, marimo=MARIMO, file=name)
    )
    st.caption(_("For another page or a slide: the figure and its dials alone."))
    st.code(frame_code(label), language="html", wrap_lines=True)
    label = html.escape(_("QR code of this view"), quote=True)
    st.html(f'<figure style="margin:0;width:9rem" aria-label="{label}">{qr_code(address())}</figure>')
    st.caption(_("The code leads to this view with all its choices."))
