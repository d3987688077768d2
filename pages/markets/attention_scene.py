"""A window of the book as the stage of the attention view: TLOB's maps, and what counted for its answer."""

from collections.abc import Mapping
from typing import Any, Final

from attention_light import AttentionScene, BookStage, LayerMaps
from core.explain.attribution import GradientError
from core.figures import market as market_figures
from core.market import evidence
from core.market.features import price_columns
from core.market.windows import FrozenWindow
from core.models.tlob import CLASSES
from pages.markets import attention_window, cached_results
from pages.markets.attention_inputs import Explained
from pages.markets.cached_results import FEATURE, TIME, WindowAnswer
from pages.markets.class_names import class_names
from pages.markets.live_controls import horizon_name
from pages.shared import controls
from pages.shared.language import _, number, percent

FORMULAS: Final = {TIME: "tlob-time-attention", FEATURE: "tlob-feature-attention"}


def titles(names: Mapping[str, Any]) -> dict[str, str]:
    """Names of the maps and the measures for readers (D1)."""
    kinds = {TIME: _("Time-to-time {number}"), FEATURE: _("Feature-to-feature {number}")}
    layers = {
        name: title.format(number=name.removeprefix(f"{kind} "))
        for name in names
        for kind, title in kinds.items()
        if name.startswith(kind)
    }
    rolled = {"rollout time": _("Time-to-time rollout"), "rollout channel": _("Feature-to-feature rollout")}
    return layers | rolled | {"gradients": _("Integrated gradients"), "moments": _("Rollout to the answer")}


def scene_of(window: FrozenWindow, answered: WindowAnswer, explained: Explained, hidden: tuple[int, ...] = ()) -> AttentionScene:
    """The window on the stage, lit by what counted for the answer.

    Args:
        hidden: moments that are rubbed out, without which it was answered.
    """
    predictor = answered.predictor
    layers = [
        LayerMaps(name=name, weights=answered.maps[name], kind="time" if kind == TIME else "channel", formula=FORMULAS[kind])
        for kind in (TIME, FEATURE)
        for name in answered.layers(kind)
    ]
    measures: dict[str, Any] = {}
    try:
        measures["gradients"] = cached_results.attribute(window, *explained, hidden=hidden).values
    except GradientError as error:
        controls.error_box(error, remedy=_("Choose another source or another model."))
    rolled = answered.maps[f"{cached_results.ROLLOUT} {TIME}"][0]
    measures["moments"] = evidence.pooled_rows(rolled, predictor.config.pooling)
    stage = BookStage(
        levels=window.levels,
        channels=predictor.config.width,
        places=price_columns(predictor.transform),
        moment=_("{seconds} s"),
        newest=_("now"),
        channel=_("channel {number}"),
    )
    return AttentionScene(
        stage=stage,
        layers=sorted(layers, key=lambda one: (one.name.rsplit(" ", 1)[1], one.kind == "channel")),
        measures=measures,
        titles=titles(answered.maps),
        answer=sentence(window, answered, explained),
    )


def sentence(window: FrozenWindow, answered: WindowAnswer, explained: Explained) -> str:
    """The answer, its market and its time in one line."""
    head, label = explained
    probabilities = answered.probabilities[head]
    mid, digits = market_figures.mid_and_digits(window.levels[-1])
    kind, steps = answered.predictor.heads[head]
    labels = {"forward": _("forward label"), "smoothed": _("smoothed label")}
    shares = ", ".join(
        f"{class_names()[code]} {percent(float(share))}" for code, share in zip(CLASSES, probabilities, strict=True)
    )
    return _("{market}, {time}, mid {mid}: in {horizon} {shares} ({label}; explained: {name}).").format(
        market=window.market.split(" ")[-1],
        time=attention_window.utc(window),
        mid=number(mid, digits),
        horizon=horizon_name(steps),
        shares=shares,
        label=labels[kind],
        name=class_names()[CLASSES[label]],
    )
