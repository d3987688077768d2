"""All pages, in the order of the menu; a test compares the list with the files in `pages/`."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.shared.language import N_, _, current

MARKET_STREAM: Final = "/stream/market"
HANDS_STREAM: Final = "/stream/hands"
"""Paths of the two websockets; their modules load torch, which the server does not wait for."""

ROOT: Final = Path(__file__).resolve().parents[2]

SECTIONS: Final = ("", N_("Markets"), N_("Images"), N_("Signs"), N_("Learn"), N_("System"))
"""Sections of the menu in their order; the front page is in none."""


@dataclass(frozen=True, kw_only=True)
class PageEntry:
    """One page.

    Attributes:
        file: relative to the project's root.
        section: one of SECTIONS. title: in English, marked with N_.
        icon: a Material symbol that Streamlit contains.
        url: path of the page, unique. It never changes, as shared links contain it.
        under: url of the page of the menu that leads to this one, which the menu leaves out; empty for those it shows.
    """

    file: str
    section: str
    title: str
    icon: str
    url: str
    under: str = ""


ENTRIES: Final[tuple[PageEntry, ...]] = (
    PageEntry(file="pages/home.py", section="", title=N_("Attention Observatory"), icon=":material/home:", url="home"),
    PageEntry(
        file="pages/markets/live.py",
        section="Markets",
        title=N_("Live order book"),
        icon=":material/candlestick_chart:",
        url="live",
    ),
    PageEntry(
        file="pages/markets/wall.py",
        section="Markets",
        title=N_("Watch wall"),
        icon=":material/view_list:",
        url="wall",
    ),
    PageEntry(
        file="pages/markets/attention.py",
        section="Markets",
        title=N_("What TLOB looks at"),
        icon=":material/grid_on:",
        url="attention",
    ),
    PageEntry(
        file="pages/markets/library.py",
        section="Markets",
        title=N_("Recordings"),
        icon=":material/video_library:",
        url="recordings",
    ),
    PageEntry(
        file="pages/markets/score.py",
        section="Markets",
        title=N_("Score recordings"),
        icon=":material/grading:",
        url="score",
        under="recordings",
    ),
    PageEntry(
        file="pages/markets/train.py",
        section="Markets",
        title=N_("Train on recordings"),
        icon=":material/model_training:",
        url="train",
        under="recordings",
    ),
    PageEntry(
        file="pages/images/classify.py",
        section="Images",
        title=N_("Classify a garment"),
        icon=":material/checkroom:",
        url="classify",
    ),
    PageEntry(
        file="pages/images/attention.py",
        section="Images",
        title=N_("What the ViT looks at"),
        icon=":material/frame_inspect:",
        url="garment-attention",
    ),
    PageEntry(
        file="pages/images/tokens.py",
        section="Images",
        title=N_("Patches to tokens"),
        icon=":material/view_module:",
        url="tokens",
        under="garment-attention",
    ),
    PageEntry(
        file="pages/images/training.py",
        section="Images",
        title=N_("Training run"),
        icon=":material/show_chart:",
        url="garment-training",
    ),
    PageEntry(
        file="pages/images/train_here.py",
        section="Images",
        title=N_("Train here"),
        icon=":material/model_training:",
        url="train-here",
        under="garment-training",
    ),
    PageEntry(
        file="pages/images/own_classes.py",
        section="Images",
        title=N_("Teach your own classes"),
        icon=":material/school:",
        url="own-classes",
    ),
    PageEntry(
        file="pages/signs/recognise.py",
        section="Signs",
        title=N_("Recognise signs"),
        icon=":material/sign_language:",
        url="recognise",
    ),
    PageEntry(
        file="pages/signs/attention.py",
        section="Signs",
        title=N_("What IIGA looks at"),
        icon=":material/frame_inspect:",
        url="sign-attention",
    ),
    PageEntry(
        file="pages/signs/live.py",
        section="Signs",
        title=N_("Sign to the camera"),
        icon=":material/videocam:",
        url="sign-live",
    ),
    PageEntry(
        file="pages/signs/spell.py",
        section="Signs",
        title=N_("Spell a word"),
        icon=":material/back_hand:",
        url="spell",
    ),
    PageEntry(
        file="pages/learn/course.py",
        section="Learn",
        title=N_("The course"),
        icon=":material/school:",
        url="learn",
    ),
    PageEntry(
        file="pages/learn/recurrent.py",
        section="Learn",
        title=N_("Recurrent cells"),
        icon=":material/replay:",
        url="recurrent",
        under="learn",
    ),
    PageEntry(
        file="pages/learn/attention_steps.py",
        section="Learn",
        title=N_("Attention step by step"),
        icon=":material/stairs:",
        url="attention-steps",
        under="learn",
    ),
    PageEntry(
        file="pages/learn/trained_text.py",
        section="Learn",
        title=N_("Trained attention"),
        icon=":material/text_fields:",
        url="trained-attention",
        under="learn",
    ),
    PageEntry(
        file="pages/learn/permutation.py",
        section="Learn",
        title=N_("Order and permutation"),
        icon=":material/shuffle:",
        url="permutation",
        under="learn",
    ),
    PageEntry(
        file="pages/learn/positions.py",
        section="Learn",
        title=N_("Positional encoding"),
        icon=":material/waves:",
        url="positions",
        under="learn",
    ),
    PageEntry(
        file="pages/learn/norms.py",
        section="Learn",
        title=N_("Norms, activations, dropout"),
        icon=":material/balance:",
        url="norms",
        under="learn",
    ),
    PageEntry(
        file="pages/learn/transformer.py",
        section="Learn",
        title=N_("Encoder and decoder"),
        icon=":material/translate:",
        url="transformer",
        under="learn",
    ),
    PageEntry(
        file="pages/learn/backprop.py",
        section="Learn",
        title=N_("Backpropagation"),
        icon=":material/undo:",
        url="backprop",
        under="learn",
    ),
    PageEntry(
        file="pages/learn/optimisers.py",
        section="Learn",
        title=N_("Optimisers and schedules"),
        icon=":material/trending_down:",
        url="optimisers",
        under="learn",
    ),
    PageEntry(file="pages/learn/cost.py", section="Learn", title=N_("Cost"), icon=":material/speed:", url="cost", under="learn"),
    PageEntry(
        file="pages/signs/ctc.py", section="Learn", title=N_("CTC lab"), icon=":material/timeline:", url="ctc", under="learn"
    ),
    PageEntry(
        file="pages/signs/metrics.py",
        section="Learn",
        title=N_("Metrics lab"),
        icon=":material/rule:",
        url="metrics",
        under="learn",
    ),
    PageEntry(
        file="pages/learn/matrices.py",
        section="Learn",
        title=N_("Matrix operations"),
        icon=":material/calculate:",
        url="matrices",
        under="learn",
    ),
    PageEntry(
        file="pages/learn/uses.py",
        section="Learn",
        title=N_("Uses and notation"),
        icon=":material/hub:",
        url="uses",
        under="learn",
    ),
    PageEntry(
        file="pages/learn/pairs.py",
        section="Learn",
        title=N_("How many pairs?"),
        icon=":material/layers:",
        url="pairs",
        under="learn",
    ),
    PageEntry(
        file="pages/learn/leakage.py",
        section="Learn",
        title=N_("The leakage lab"),
        icon=":material/water_damage:",
        url="leakage",
        under="learn",
    ),
    PageEntry(
        file="pages/learn/equations.py",
        section="Learn",
        title=N_("Equation index"),
        icon=":material/function:",
        url="equations",
    ),
    PageEntry(file="pages/system/status.py", section="System", title=N_("System"), icon=":material/monitor_heart:", url="system"),
)
"""The first page opens at the root address."""

OF_THE_LIVE_PAGE: Final = frozenset(
    ("at", "colours", "contrast", "cutoff", "ex", "fee", "footprint", "h", "label", "lines", "model", "moves", "peers",
     "pressure", "profile", "rec", "seed", "source", "span", "speed", "spread", "sure", "sym", "ticks", "vol", "with", "zone")
)  # fmt: skip
"""Parameters of links to the live page, which stood at the root address before the front page did: they lead there still."""


EMBEDDABLE: Final = frozenset(entry.url for entry in ENTRIES if entry.section == "Learn")
"""Addresses of the lessons, each of which gives the code that shows it in another page."""

_MADE: Final[dict[str, dict[str, list[Any]]]] = {}
"""Streamlit's pages by language: to make them looks at every file, which is too much for every run."""


def tab_title(title: str) -> str:
    """Title of the browser's tab on a page of this title: each says which one it is (WCAG 2.4.2)."""
    name = ENTRIES[0].title
    return name if title == _(name) else f"{title} · {name}"


def beside(url: str) -> list[PageEntry]:
    """A page of the menu and those under it, for the page of this path; empty where it stands alone, and for lessons.

    A lesson has links to the course and to the lessons around it.
    """
    head = next((entry.under or entry.url for entry in ENTRIES if entry.url == url), "")
    family = [entry for entry in ENTRIES if head and head in (entry.url, entry.under)]
    return family if len(family) > 1 and head != "learn" else []


def sections() -> dict[str, list[Any]]:
    """Streamlit's pages by translated section, for `st.navigation`, which writes into them."""
    if get_script_run_ctx(suppress_warning=True) is None:
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
                    visibility="hidden" if entry.under else "visible",
                )
                for entry in entries
            ]
    return shown
