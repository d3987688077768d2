"""Words of a forecast's reasons on the live page's screen (terminal_reasons.js), and how they did in their test."""

from __future__ import annotations

from typing import Any

from core.explain.faithfulness import FindingError
from core.market import reasons_measured
from core.market.session import MarketSession
from core.messages import translate
from pages.shared.language import _, number


def labels() -> dict[str, Any]:
    """Words of the reasons, in the order of `core.market.reasons.GROUPS`, and of an answer without an order."""
    return {
        "reasons": _("Why: what P(up) - P(down) rests on"),
        "groups": [_("Touch"), _("Near asks"), _("Near bids"), _("Far depth"), _("Drift of the mid"), _("Older than 8 s")],
        "groupStates": [
            (_("the touch leans to the asks"), _("the touch leaning as usual"), _("the touch leans to the bids")),
            (_("the near asks are light"), _("the near asks weighing as usual"), _("the near asks are heavy")),
            (_("the near bids are light"), _("the near bids weighing as usual"), _("the near bids are heavy")),
            (_("far depth leans to the asks"), _("far depth leaning as usual"), _("far depth leans to the bids")),
            (_("the mid has fallen"), _("the mid drifting as usual"), _("the mid has risen")),
            (_("what is older than 8 s"),) * 3,
        ],
        "ways": [_("down"), _("up")],
        "reasonsLean": _("Towards {way} by {lean}: {reasons}."),
        "reasonsLeanAlone": _("Towards {way} by {lean}, where no group pushes."),
        "reasonsMostlyUsual": _("Towards {way} by {lean}, the usual way: with every group at its mean it would be {usual}."),
        "reasonsFor": _("For it: {reasons}."),
        "reasonsAgainst": _("Against it: {reason}."),
        "reasonsUsual": _("All as usual, it would be {usual}."),
        "reasonsEven": _("Up and down are even. What counts most: {reasons}."),
        "reasonsNone": _("No group gives {least} or more."),
        "reasonsOf": _("At {time}, against the mean of the last {minutes} min."),
        "reasonsOld": _("Light of {time}; computing newer"),
        "reasonsComputed": _("Light is being computed."),
        "reasonsWaiting": _("Reasons come half a minute after the first call."),
        "withoutHelp": _("Press a price, here or on the chart: TLOB answers without what rests there above its neighbours."),
        "withoutNothing": _("At {price} nothing is larger than its neighbours: there is nothing to take away."),
        "withoutCut": _("{left} in place of {size} at {price}, as much as beside it:"),
        "withoutPast": _("Without what stood at {price} above its neighbours:"),
        "withoutLittle": _("it hardly counts."),
        "withoutMoved": _("{call} {after} instead of {before}."),
    }


def measured(session: MarketSession, head: int) -> str:
    """The reasons' results in the deletion test on this market, a head's."""
    card = session.predictor.card
    try:
        market = f"{session.feed.key} {session.feed.market}"
        one = reasons_measured.read(market, str(card["name"]), str(card["weights_sha256"]))
    except FindingError as damaged:
        return translate(str(damaged))
    if one is None:
        return _("Whether this ranking beats chance was not measured on this market.")
    area, low, high = (number(value, 3) for value in one.areas[head])
    text = (
        _("Held-out hours of {market}: this ranking beats chance, area {area} ({low} to {high}), {count} windows.")
        if one.areas[head][1] > 0
        else _(
            "Held-out hours of {market}: this ranking is no better than chance, area {area} ({low} to {high}), {count} windows."
        )
    )
    return text.format(market=one.name, area=area, low=low, high=high, count=number(one.windows))
