"""All pages, in the order of the menu; a test compares the list with the files in `pages/`."""

from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import streamlit as st

from pages.shared import streamlit_private
from pages.shared.language import N_, _, current

MARKET_STREAM: Final = "stream/market"
HANDS_STREAM: Final = "stream/hands"
SIGHT_STREAM: Final = "stream/sight"
"""Addresses of the websockets, relative to the app's; their modules load torch, which the server does not wait for."""

ROOT: Final = Path(__file__).resolve().parents[2]

SECTIONS: Final = ("", N_("Markets"), N_("Images"), N_("Signs"), N_("Learn"), N_("System"))
"""Sections of the menu in their order; the front page is in none."""


@dataclass(frozen=True)
class PageEntry:
    """One page.

    Attributes:
        path: of its file, within `pages`.
        section: one of SECTIONS. title: in English, marked with N_.
        symbol: a Material symbol that Streamlit contains.
        url: path of the page, unique. It never changes, as shared links contain it.
        needs: a file of a network, relative to the project's root, without which the menu leaves the page out.
        under: url of the page of the menu that leads to this one, which the menu leaves out; empty for those it shows.
    """

    path: str
    section: str
    title: str
    symbol: str
    url: str
    under: str = ""
    needs: str = ""

    @property
    def file(self) -> str:
        """Its file, relative to the project's root."""
        return f"pages/{self.path}"

    @property
    def icon(self) -> str:
        """The symbol as Streamlit names it."""
        return f":material/{self.symbol}:"


ENTRIES: Final[tuple[PageEntry, ...]] = (
    PageEntry("home.py", "", N_("Attention Observatory"), "home", "home"),
    PageEntry("markets/live.py", "Markets", N_("Live order book"), "candlestick_chart", "live"),
    PageEntry("markets/panes.py", "Markets", N_("Several markets"), "grid_view", "panes"),
    PageEntry("markets/attention.py", "Markets", N_("What TLOB looks at"), "grid_on", "attention"),
    PageEntry("markets/library.py", "Markets", N_("Recordings"), "video_library", "recordings"),
    PageEntry("images/see.py", "Images", N_("Any photograph"), "visibility", "see", needs="assets/sight/sight.safetensors"),
    PageEntry("images/classify.py", "Images", N_("Garments"), "checkroom", "classify"),
    PageEntry("signs/recognise.py", "Signs", N_("Recognise signs"), "sign_language", "recognise"),
    PageEntry("learn/course.py", "Learn", N_("The lecture"), "school", "learn"),
    PageEntry("learn/sentences.py", "Learn", N_("Words"), "forum", "words"),
    PageEntry("learn/recurrent.py", "Learn", N_("Recurrent cells"), "replay", "recurrent", "learn"),
    PageEntry("learn/attention_steps.py", "Learn", N_("Attention step by step"), "stairs", "attention-steps", "learn"),
    PageEntry("learn/permutation.py", "Learn", N_("Order and permutation"), "shuffle", "permutation", "learn"),
    PageEntry("learn/positions.py", "Learn", N_("Positional encoding"), "waves", "positions", "learn"),
    PageEntry("learn/norms.py", "Learn", N_("Norms, activations, dropout"), "balance", "norms", "learn"),
    PageEntry("learn/transformer.py", "Learn", N_("Encoder and decoder"), "translate", "transformer", "learn"),
    PageEntry("learn/backprop.py", "Learn", N_("Backpropagation"), "undo", "backprop", "learn"),
    PageEntry("learn/optimisers.py", "Learn", N_("Optimisers and schedules"), "trending_down", "optimisers", "learn"),
    PageEntry("learn/ctc.py", "Learn", N_("CTC lab"), "timeline", "ctc", "learn"),
    PageEntry("learn/metrics.py", "Learn", N_("Metrics lab"), "rule", "metrics", "learn"),
    PageEntry("learn/equations.py", "Learn", N_("Equation index"), "function", "equations"),
    PageEntry("system/status.py", "System", N_("System"), "monitor_heart", "system"),
)
"""The first page opens at the root address."""

MOVED: Final[dict[str, str]] = {
    "class": "learn",
    "class/{code}": "learn",
    "paper-errors": "equations",
    "spell": "recognise",
    "sign-attention": "recognise",
    "sign-live": "recognise",
    "score": "recordings",
    "wall": "panes",
    "train": "recordings",
    "garment-training": "classify?inside=training",
    "train-here": "classify?inside=training",
    "trained-attention": "words",
    "garment-attention": "classify",
    "tokens": "classify",
    "own-classes": "classify",
    "leakage": "recordings",
    "pairs": "attention-steps?part=cost",
    "cost": "attention-steps?part=cost",
    "matrices": "equations",
    "uses": "equations",
}
"""Addresses of pages that are gone, each with the nearest page that stays, in a state where that says more: links lead there."""

NO_PAGE: Final = "no-page"
"""Page that says of an address, in the parameter `address`, that no page has it."""

OF_THE_LIVE_PAGE: Final = frozenset(
    ("at", "colours", "contrast", "cutoff", "ex", "fee", "h", "label", "lines", "model",
     "pressure", "profile", "rec", "seed", "source", "span", "speed", "spread", "sym", "ticks", "vol", "with", "zone")
)  # fmt: skip
"""Parameters of links to the live page, which stood at the root address before the front page did: they lead there still,
those too whose choice is gone (colours, contrast, cutoff, profile)."""


_MADE: Final[dict[str, dict[str, list[Any]]]] = {}
"""Streamlit's pages by language: to make them looks at every file, which is too much for every run."""


def base_path() -> str:
    """Path that the app stands under (`server.baseUrlPath`), with its first slash and without a last one; "" at the root."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{base}" if base else ""


def tab_title(title: str) -> str:
    """Title of the browser's tab on a page of this title: each says which one it is (WCAG 2.4.2)."""
    name = ENTRIES[0].title
    return name if title == _(name) else f"{title} · {name}"


def entry_of(url: str) -> PageEntry:
    """The page of an address.

    Raises:
        StopIteration: where there is none.
    """
    return next(entry for entry in ENTRIES if entry.url == url)


def beside(url: str) -> list[PageEntry]:
    """A page of the menu and those under it, for the page of this path; empty where it stands alone, and for lessons.

    A lesson has links to the course and to the lessons around it.
    """
    head = next((entry.under or entry.url for entry in ENTRIES if entry.url == url), "")
    family = [entry for entry in ENTRIES if head and head in (entry.url, entry.under)]
    return family if len(family) > 1 and head != "learn" else []


def sections() -> dict[str, list[Any]]:
    """Streamlit's pages by translated section, for `st.navigation`, which writes into them."""
    if streamlit_private.this_run() is None:
        return _sections()
    language = current()
    if language not in _MADE:
        _MADE[language] = _sections()
    return {section: [copy(page) for page in pages] for section, pages in _MADE[language].items()}


def _sections() -> dict[str, list[Any]]:
    shown: dict[str, list[Any]] = {}
    for section in SECTIONS:
        entries = [entry for entry in ENTRIES if entry.section == section]
        if entries:
            shown[_(section)] = [
                st.Page(
                    ROOT / entry.file,
                    title=_(entry.title),
                    icon=entry.icon,
                    url_path=entry.url,
                    default=entry is ENTRIES[0],
                    visibility="hidden" if entry.under or not (ROOT / entry.needs).exists() else "visible",
                )
                for entry in entries
            ]
    return shown
