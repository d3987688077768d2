"""The leakage lab: the field's usual mistakes in measuring a forecaster, one by one, on a recorded order book."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pandas as pd
import streamlit as st

from core.device import use_one_thread
from core.figures.learn.experiments import lab_figure
from core.lecture import leakage
from core.lecture.handout import Worked
from core.lecture.leakage import MISTAKES, FinishedLab, LabScore, Mistake, TrainedLab
from core.lecture.notebooks import on_screen
from core.market.book import read_rows
from core.market.labels import HORIZONS
from pages.learn import frame
from pages.learn.lesson_page import LessonPage, Part, PartView, Show, markdown, plot, render, table
from pages.shared.language import _, number

WANTED: Final = "leakage:wanted"
"""Session state: whether the button was just pressed."""


MAX_LABS: Final = 24


@st.cache_resource(show_spinner=False)
def _labs() -> dict[tuple[int, tuple[Mistake, ...]], TrainedLab]:
    """Labs trained here, for all visitors, by horizon and the mistakes that change training; the newest `MAX_LABS`."""
    return {}


def mistake_names() -> dict[Mistake, str]:
    """Each mistake's name on the page."""
    return {
        "label": _("Past in the label"),
        "shuffle": _("Shuffled split"),
        "scaling": _("Means of the whole file"),
        "threshold": _("Thresholds from the test part"),
        "epoch": _("Best epoch by test score"),
        "peers": _("Peer without a call rule"),
    }


@st.cache_data(show_spinner=False, max_entries=1)
def _example() -> FinishedLab:
    return FinishedLab.read()


@st.cache_data(show_spinner=False, max_entries=256)
def _measured(horizon: int, mistakes: tuple[Mistake, ...]) -> LabScore:
    return leakage.measure(_labs()[horizon, leakage.trained_with(mistakes)], mistakes)


def _score(horizon: int, mistakes: tuple[Mistake, ...]) -> LabScore | None:
    """Scores with these mistakes: of what was trained here, else of the run made beforehand; None where neither has them."""
    if not _untrained(horizon, [mistakes]):
        return _measured(horizon, mistakes)
    return _example().score.get(mistakes) if horizon == _example().horizon else None


def _untrained(horizon: int, ways: Iterable[tuple[Mistake, ...]]) -> list[tuple[Mistake, ...]]:
    """Returns what must be trained before these can be measured here."""
    return [key for key in dict.fromkeys(map(leakage.trained_with, ways)) if (horizon, key) not in _labs()]


def _want() -> None:
    st.session_state[WANTED] = True  # known before the button is drawn, which is greyed out meanwhile


def _train(horizon: int, missing: list[tuple[Mistake, ...]]) -> None:
    """Train what is missing, with a bar. Any rerun of the page ends the work; what is whole is kept."""
    bar = st.progress(0.0, text=_("Reading the recording…"))
    st.button(_("Stop"), icon=":material/stop:", key="leakage:stop")
    use_one_thread()
    rows = read_rows(leakage.RECORDING)
    for count, key in enumerate(missing):

        def moved(done: int, total: int, count: int = count) -> None:
            text = _("Network {n} of {all}").format(n=number(count + 1), all=number(len(missing)))
            bar.progress((count + done / total) / len(missing), text=text)

        labs = _labs()
        labs[horizon, key] = leakage.run(rows, horizon, key, progress=moved)
        while len(labs) > MAX_LABS:
            labs.pop(next(iter(labs)))
    st.rerun()


def mistakes() -> dict[str, Any]:
    """The mistakes made together."""
    names, made = mistake_names(), []
    with frame.controls_block("mistakes"):
        st.caption(_("Make these mistakes together"))
        for columns in (MISTAKES[:3], MISTAKES[3:]):
            for mistake, column in zip(columns, st.columns(3), strict=True):
                with column:
                    if st.toggle(names[mistake], key=f"leak_{mistake}", bind="query-params"):
                        made.append(mistake)
    return {"made": tuple(made)}


def _table(scores: Mapping[str, LabScore]) -> pd.DataFrame:
    honest = next(iter(scores.values()))
    return pd.DataFrame(
        {
            _("Measured"): name,
            _("Matthews"): number(float(score.network.mean()), 3),
            _("More than honest"): "" if score is honest else number(float((score.network - honest.network).mean()), 3),
            _("Macro-F1"): number(float(score.network_f1.mean()), 3),
            _("Linear peer"): number(float(score.peer.mean()), 3),
            _("Lead over the peer"): number(float(score.lead.mean()), 3),
            _("Momentum rule"): number(score.momentum, 3),
        }
        for name, score in scores.items()
    )


def results(
    horizon: int, scores: Mapping[str, LabScore], made: tuple[Mistake, ...], untrained: list[tuple[Mistake, ...]]
) -> PartView:
    """The scores, the honest one first, and what each mistake moves."""
    honest, names = next(iter(scores.values())), mistake_names()
    alpha, learnt_from = _example().alpha, _example().learnt_from
    if (lab := _labs().get((horizon, ()))) is not None:
        alpha, learnt_from = lab.data.alpha, len(lab.data.rows["train"])

    def moves(mistake: Mistake) -> Show:
        score = scores[names[mistake]]
        before, after = (honest.lead, score.lead) if mistake == "peers" else (honest.network, score.network)
        said = _("Lead over the peer {before} → {after}.") if mistake == "peers" else _("Matthews {before} → {after}.")
        said = said.format(before=number(float(before.mean()), 3), after=number(float(after.mean()), 3))
        return markdown(f"**{names[mistake]}.** {said} {frame.passage('leakage', mistake)}")

    alt = _("Matthews correlation on the test part, honest and with each mistake, beside the linear peer and the momentum rule.")
    matrices = {name: score.called for name, score in scores.items()} | {_("Linear peer"): honest.peer_called}
    shown = {name: float(score.network.mean()) for name, score in scores.items()} | {_("Linear peer"): float(honest.peer.mean())}
    return PartView(
        equation=Worked(
            r"l = \frac{\frac1h \sum_{k=1}^{h} p_{t+k} - p_t}{p_t} \quad\text{(D8, forward)},\qquad |l| > \alpha",
            rf"h = {horizon},\quad \alpha = {frame.tex(alpha * 1e4)} \cdot 10^{{-4}}",
            _("the honest label and its threshold, from {count} rows of the training part").format(count=number(learnt_from)),
        ),
        figure=[plot(lab_figure(scores), "leakage_scores", alt), table(_table(scores), height="content")],
        notes=[frame.passage("leakage", "look")],
        more=[
            *(moves(mistake) for mistake in made or MISTAKES),
            *([_trainer(horizon, untrained, again=True)] if untrained else []),
        ],
        taken=lambda: {"MATRICES": matrices, **on_screen(shown)},
    )


def lab(horizon: int, made: tuple[Mistake, ...]) -> PartView:
    """The scores, or the button that trains what they need."""
    ways: dict[str, tuple[Mistake, ...]] = {_("honest"): ()}
    ways |= {name: (mistake,) for mistake, name in mistake_names().items()}
    if len(made) > 1:
        ways[_("those chosen, together")] = made
    scores = {name: score for name, way in ways.items() if (score := _score(horizon, way)) is not None}
    untrained = _untrained(horizon, ways.values())
    if len(scores) < len(ways):
        return PartView(figure=[_trainer(horizon, untrained)])
    return results(horizon, scores, made, untrained)


def _trainer(horizon: int, untrained: list[tuple[Mistake, ...]], *, again: bool = False) -> Show:
    """The button that trains these here; `again` below scores that were made beforehand."""

    def train() -> None:
        wanted = st.session_state.pop(WANTED, False)
        label = _("Train and measure again") if again else _("Train and measure")
        st.button(label, icon=":material/science:", key="leakage:train", on_click=_want, disabled=wanted)
        said = _("{count} small networks are trained from three seeds each, in up to two minutes; the recording lasts an hour.")
        before = [_("The numbers above were made beforehand by the same code.")] if again else []
        st.caption(" ".join([*before, said.format(count=number(len(untrained)))]))
        if wanted:
            _train(horizon, untrained)

    return train


render(
    lambda: LessonPage(
        "leakage",
        _("The leakage lab"),
        [Part("", "", lambda **_made: {
            "horizon": frame.choice(_("Horizon, steps"), frame.whole_numbers(*HORIZONS), key="leak_h", default="20", value=int),
        }, lab, "leak_dial", above=mistakes)],
        _(
            "decisions D8, D10 and D25; Zhang, Zohren and Roberts 2019 (DeepLOB); Ntakaris et al. 2018 (FI-2010); "
            "Berti and Kasneci 2025 (TLOB); Kapoor and Narayanan 2023 (leakage)."
        ),
    )
)  # fmt: skip
