"""The live page's screen as one component: its words, its choices and the address of its stream (drawn by terminal.js)."""

import weakref
from collections.abc import Callable
from dataclasses import asdict
from statistics import StatisticsError
from typing import Any, Final
from urllib.parse import urlencode

import streamlit as st

from core import front
from core.explain.faithfulness import FindingError
from core.figures.colours import PALETTE
from core.figures.style import BLUE, GREEN, GREY, ORANGE, VIOLET
from core.market import stream
from core.market.answers.one_answer import FEWEST, RIVALS
from core.market.book import STEP_MS
from core.market.feeds.protocol import Status
from core.market.feeds.situations import LIVE, SHORT, SILENT, WITHOUT_ROWS, Situation
from core.market.predictor import Predictor
from core.market.reasons import measured_test
from core.market.session import MarketSession
from core.market.stream import STATUSES
from core.messages import translate
from pages.markets import live_scores, stream_route
from pages.markets.class_names import class_names
from pages.markets.live_controls import TerminalChoices
from pages.shared import assets, controls, permissions
from pages.shared.browser_component import browser_component
from pages.shared.language import _, duration, number, regional

GOOD: Final = (Status.LIVE, Status.REPLAYING, Status.SIMULATING)
WAITING: Final = (Status.CONNECTING, Status.WARMING, Status.RECONNECTING, Status.INTERRUPTED, Status.STALE, Status.STALLED)
TONES: Final = dict.fromkeys(GOOD, "good") | dict.fromkeys(WAITING, "warning") | {Status.FAILED: "bad"}
"""Colours of the statuses; one that is not here is plain."""
WRONG: Final = PALETTE["wrong"]
"""Wrong calls: told from right ones by hue and lightness, under every common colour blindness too."""
NOTICE: Final = (
    'Charts: <a href="https://www.tradingview.com/">TradingView Lightweight Charts™</a>, © 2026 TradingView, Inc., Apache-2.0.'
)


def status_names() -> dict[Status, str]:
    """Every status in the reader's language."""
    return {
        Status.CONNECTING: _("Connecting"),
        Status.WARMING: _("Warming up {done}/{whole}"),
        Status.LIVE: _("Live"),
        Status.REPLAYING: _("Replaying"),
        Status.SIMULATING: _("Simulating"),
        Status.PAUSED: _("Paused"),
        Status.RECONNECTING: _("Reconnecting"),
        Status.INTERRUPTED: _("No rows now"),
        Status.STALE: _("Stale"),
        Status.STALLED: _("Unchanged for over 2 min"),
        Status.ENDED: _("Ended"),
        Status.FAILED: _("Failed"),
    }


def draw_terminal(
    session: MarketSession,
    choices: TerminalChoices,
    *,
    venue: str,
    viewer: str,
    on_command: Callable[[str, Any], None],
    key: str = "terminal",
) -> None:
    """Draw the screen, or give the one that is there new choices.

    Args:
        venue: where the market is traded, for a reader. viewer: who watches, for the stream's ticket.
        on_command: called with the name and value of a key the reader pressed ("play", "horizon").
        key: of the component, one for each screen of a page.
    """
    config = configuration(session, choices) | {
        "venue": venue,
        "address": _address(session, viewer, f"{key}:ticket"),
        "fee": live_scores.fee_chosen(),
        "presenting": controls.presenting(),
    }

    def commanded() -> None:
        command = st.session_state[key].get("command")
        if command:
            on_command(str(command["name"]), command.get("value"))

    browser_component("terminal")(key=key, data=config, on_command_change=commanded)


def configuration(session: MarketSession, choices: TerminalChoices) -> dict[str, Any]:
    """Configuration of the screen: the session and the reader's choices, without its stream."""
    predictor, entry = session.predictor, session.entry
    names = {head: duration(predictor.heads[head][1] * STEP_MS / 1e3) for head in choices.heads}
    states = status_names()
    return asdict(choices) | {
        "source": f"{session.feed.key} {session.started}",
        "symbol": session.feed.market,
        "situations": stream_route.described(session.situations(), regional()),
        "charts": assets.script("vendor/lightweight-charts.js"),
        "chart": assets.script("terminal_chart.js"),
        "schema": stream.SCHEMA,
        "locale": regional(),
        "rivals": [live_scores.rival_names()[rule] for rule in RIVALS],
        "known": entry.name != "pooled",
        "colours": {"up": BLUE, "down": ORANGE, "none": GREY, "line": VIOLET},
        "marks": {"right": GREEN, "wrong": WRONG, "pending": GREY},
        "legend": _legend(),
        "notice": NOTICE,
        "states": [states[status].replace("{whole}", str(predictor.window)) for status in STATUSES],
        "statusNames": [status.value for status in STATUSES],
        "tones": [TONES.get(status, "plain") for status in STATUSES],
        "classes": list(class_names().values()),
        "arrows": ["▼", "■", "▲"],
        "labels": _labels(names[choices.head])
        | {"held": _held_out(predictor, choices.head), "reasonsMeasured": _reasons_measured(session, choices.head)},
        "window": predictor.window,
        "horizon": predictor.heads[choices.head][1],
        "keys": _keys(),
        "feedStates": _feed_states(),
    }


def _feed_states() -> dict[str, tuple[str, str]]:
    """Word and colour of each state of a live feed's day."""
    colours = dict.fromkeys(SHORT, "orange") | dict.fromkeys(WITHOUT_ROWS, "red")
    colours |= {Situation.ASKED: "blue", Situation.STILL: "blue"}
    return {LIVE: (_("live"), "green"), SILENT: (_("silent"), "red")} | {
        kind.value: (_(word), colours[kind]) for kind, word in SHORT.items()
    }


def _legend() -> list[tuple[str, str, str]]:
    """Name, words and colour of what the reader may switch off."""
    return [
        ("depth", _("Resting size"), GREY),
        ("ask", _("Best ask"), ORANGE),
        ("bid", _("Best bid"), BLUE),
        ("trades", _("Trades"), BLUE),
        ("right", _("Call came true"), GREEN),
        ("wrong", _("Call was wrong"), WRONG),
        ("pending", _("Call not yet known"), GREY),
        ("light", _("Counts now"), "currentcolor"),
    ]


def _address(session: MarketSession, viewer: str, kept: str) -> str:
    """The stream's address with this viewer's ticket, the same for as long as the viewer watches this session."""
    memory = st.session_state.get(kept)
    here = weakref.ref(session)
    if memory is None or memory[:2] != (here, regional()) or stream_route.TICKETS.find(memory[2]) is None:
        ticket = stream_route.Ticket(viewer=viewer, session=here, language=regional())
        key = stream_route.TICKETS.keep(ticket, permissions.visitor().holder)
        memory = st.session_state[kept] = (here, regional(), key)
    return f"{stream_route.PATH}?{urlencode({'ticket': memory[2]})}"


def _held_out(predictor: Predictor, head: int) -> str:
    """The card's scores of a head on its test parts, which stand until the market has its own; "" where it has none."""
    label, horizon = predictor.heads[head]
    try:
        tlob, momentum = front.mean_matthews(predictor.card["metrics"], label, horizon)
    except (KeyError, StatisticsError):
        return ""
    return _("Until then, on its own markets' test parts: Matthews correlation {tlob}, momentum {momentum}.").format(
        tlob=number(tlob, 2), momentum=number(momentum, 2)
    )


def _labels(horizon: str) -> dict[str, Any]:
    of_panels = _strip_labels(), _chart_labels(), _ladder_labels(), _call_labels(horizon), _alert_labels(horizon)
    return {name: text for labels in (*of_panels, reasons_labels()) for name, text in labels.items()}


def _strip_labels() -> dict[str, str]:
    """Words of the line above the chart, of a feed's day, and of what is said."""
    return {
        "status": _("Status"),
        "mid": _("Mid"),
        "spread": _("Spread"),
        "bps": _("bps"),
        "imbalance": _("Imbalance"),
        "delta": _("Volume delta since {time}"),
        "noTrades": _("No trades here"),
        "time": _("Time"),
        "training": _("Market"),
        "notTraining": _("Not in training"),
        "notTrainingHelp": _("The model has not seen this market: its thresholds are means over those that it was trained on."),
        "noMessage": _("No message for {span}"),
        "noMessageAsked": _("No message for {span}; asked {asked} ago: the same book"),
        "offer": _("Watch a recording meanwhile"),
        "provisional": _("newest rows not yet confirmed"),
        "disconnected": _("The server is lost: the page goes on by itself when it is back."),
        "feedState": _("From {from} to {until}: {state}."),
        "feedNone": _("{time}: not followed."),
        "silent": _("Silent since {time}"),
        "slept": _("This computer slept from {from} to {until}: nothing came in that time."),
        "spoken": _("TLOB now calls {call}."),
    }


def _chart_labels() -> dict[str, str]:
    """Words of the chart and of the buttons above it."""
    return {
        "live": _("Back to the newest"),
        "pricePane": _("Price and resting size"),
        "signalPane": _("P(up) - P(down)"),
        "deltaPane": _("Volume delta: bought less sold"),
        "cumulativePane": _("Bought less sold, summed since the last gap"),
        "unknown": _("Depth not known"),
        "scale": _("Resting size by colour, on a logarithmic scale; grey: depth that the venue did not send. L fits it anew."),
        "bin": _("bought {bought}, sold {sold}, {count} trades"),
        "picture": _("Save the chart as a picture"),
        "present": _("Presentation") + " (P)",
        "enlarge": _("Make it large"),
        "leave": _("Leave presentation (Esc)"),
        "help": _("Keys"),
        "keys": _("Keys"),
    }


def _ladder_labels() -> dict[str, str]:
    """Words of the ladder and of the tape."""
    return {
        "tape": _("Newest trades"),
        "tradesBreak": _("{from} – {until}: not followed"),
        "bought": _("Bought"),
        "sold": _("Sold"),
        "traded": _("Traded"),
        "size": _("Resting"),
        "change": "1 min",
        "changeHelp": _("What rests there now less what rested there a minute ago."),
        "ladder": _("Rows of {step}"),
    }


def _call_labels(horizon: str) -> dict[str, Any]:
    """Words of the one answer and its score."""
    return {
        "callsAhead": _("TLOB, {horizon} ahead").format(horizon=horizon),
        "noPrediction": _("No call yet"),
        "backAfter": _(
            "Back: the next call comes after {span} more of this market, as no window has a hole. What stands here is of {time}."
        ),
        "unwatched": _("Nobody watched as this row came: the next call comes with the next row. What stands here is of {time}."),
        "notKnown": _("No call while the book is not known. What stands here is of {time}."),
        "untilCall": _("Row {done} of {whole} until the first call."),
        "untilOutcome": _("No outcome is known yet: the first comes {horizon} after the first call.").format(horizon=horizon),
        "more": _("Scores"),
        "asUsual": _("No class has more than 1.1 times its share so far."),
        "aboveUsual": _("Above its usual share most: {call} {share}, {times} times its share so far."),
        "usual": _("{call} came in {share} of the outcomes so far: the tick."),
        "ahead": _("Ahead of every naive rule: {lead} nats a call better than {rule}, the nearest, over {count} outcomes."),
        "behind": _("Behind the naive rules: {rule} is {lead} nats a call better, over {count} outcomes."),
        "undecidedFor": _("Undecided beside {rule}, the nearest rule: {lead} nats a call better over {count} outcomes."),
        "undecidedAgainst": _("Undecided beside {rule}, the nearest rule: {lead} nats a call worse over {count} outcomes."),
        "undecidedEven": _("Undecided beside {rule}, the nearest rule: no better and no worse over {count} outcomes."),
        "was_ahead": _("No longer ahead."),
        "was_behind": _("No longer behind."),
        "session": _("In this session, {words}"),
        "here": _("Here since {date} ({span}), {words}"),
        "until": _("Decided in about {span} at this rate."),
        "untilLong": _("Not decided within a month at this rate."),
        "right": _("Called rightly"),
        "ofOutcomes": _("{count} of {whole}"),
        "nearest": _("{rule}, the nearest rule"),
        "nearestNow": _("{rule} calls now"),
        "few": _("{{count}} of the {least} outcomes that a score begins with.").format(least=number(FEWEST)),
        "worth": _("A call was worth {result} after the spread and two fees of {fee} bps: {count} trades."),
        "worthNone": _("What a call is worth is said from ten trades on: {count} so far."),
        "since": _("Scored since {time}."),
        "sinceWithout": _("Scored since {time}, without the time from {from} to {to}."),
    }


def reasons_labels() -> dict[str, Any]:
    """Words of a forecast's reasons, in the order of `core.market.reasons.GROUPS`, and of an answer without an order."""
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


def _reasons_measured(session: MarketSession, head: int) -> str:
    """The reasons' results in the deletion test on this market, a head's."""
    card = session.predictor.card
    try:
        market = f"{session.feed.key} {session.feed.market}"
        one = measured_test(market, str(card["name"]), str(card["weights_sha256"]))
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


def _alert_labels(horizon: str) -> dict[str, Any]:
    """Words of the reader's alerts (terminal_alert.js)."""
    return {
        "alert": _("Alert"),
        "alertAbout": _(
            "A sound, a line on the screen and a notification of the browser, once each time it happens; a call is that of this "
            "screen ({horizon} ahead). It is kept in this browser alone, and works while this page is open."
        ).format(horizon=horizon),
        "alertWhen": _("When"),
        "alertKinds": {
            "call": _("a call stands"),
            "price": _("a price is crossed"),
            "trade": _("a large trade comes"),
            "wall": _("a large size rests"),
            "feed": _("the feed falls silent or is back"),
        },
        "alertRules": {
            "call": _("{call}, at least {share}, for {seconds} s"),
            "price": _("the mid crosses {price}"),
            "trade": _("a trade of {size} or more"),
            "wall": _("{size} or more rest at a price"),
            "feed": _("the feed falls silent or is back"),
        },
        "alertFeed": [_("the feed is silent"), _("the feed is back")],
        "alertNumbers": {"price": _("at"), "trade": _("of at least"), "wall": _("of at least")},
        "alertPast": _("In the last {span} it would have gone off this often: {count}."),
        "alertCall": _("TLOB calls"),
        "alertAny": _("Any"),
        "alertShare": _("with a probability of at least (%)"),
        "alertSeconds": _("for so many seconds"),
        "alertSet": _("Set the alert"),
        "alertRemove": _("Remove the alert"),
        "alertNone": _("No alert is set."),
        "alertMost": _("{count} alerts are the most: remove one to set another."),
        "alertDenied": _("This browser shows no notifications of this page; the sound and the line on the screen remain."),
        "alertText": "{symbol} · {venue}: {rule}",
        "tradeSounds": _("Sound each trade of {size} or more"),
        "close": _("Close"),
    }


def _keys() -> list[tuple[str, str]]:
    return [
        (_("Space"), _("Play or pause")),
        ("← →", _("Move through time")),
        ("1 – 4", _("Horizon")),
        ("L", _("Back to the newest")),
        ("P", _("Presentation; Esc leaves it")),
        (_("Double click"), _("A line at this price, or remove it")),
        (_("Wheel"), _("Zoom time; with Shift, prices")),
        (_("Press a price"), _("The answer without what rests there; Esc takes it away")),
        ("+ -", _("Zoom prices; L has them follow the market again")),
        ("?", _("This help")),
    ]
