"""Alerts: each kind of rule at and around its level, told once, kept in a file, sent to a receiver that checks the signature."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from aiohttp import web

from core.market.alerts import AlertBook, AlertError, AlertEvent, AlertRule, MarketState, rules_from_json, rules_to_json
from core.market.session_view import Status
from core.market.webhook import send

MARKET = "live/binance/BTC/USDT"
QUIET = MarketState(
    market=MARKET,
    symbol="BTC/USDT",
    status=Status.LIVE,
    mid=100.0,
    probabilities={"forward_50": (0.2, 0.5, 0.3)},
    scores={"forward_50": (200, 0.2, 0.1)},
)


def seen(p_up: float = 0.3, **changes: object) -> MarketState:
    return replace(QUIET, probabilities={"forward_50": (0.2, 0.8 - p_up, p_up)}, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "below", "at"),
    [
        (AlertRule(market=MARKET, kind="probability", head="forward_50", level=0.7), seen(0.69), seen(0.7)),
        (AlertRule(market=MARKET, kind="probability", head="forward_50", direction="down", level=0.7), QUIET,
         replace(QUIET, probabilities={"forward_50": (0.7, 0.2, 0.1)})),
        (AlertRule(market=MARKET, kind="score", head="forward_50", level=0.05),
         replace(QUIET, scores={"forward_50": (200, 0.2, 0.24)}), replace(QUIET, scores={"forward_50": (200, 0.2, 0.26)})),
        (AlertRule(market=MARKET, kind="score", head="forward_50", level=0.05),
         replace(QUIET, scores={"forward_50": (99, 0.0, 0.9)}), replace(QUIET, scores={"forward_50": (100, 0.0, 0.9)})),
        (AlertRule(market=MARKET, kind="feed"), QUIET, replace(QUIET, status=Status.STALE)),
        (AlertRule(market=MARKET, kind="feed"), replace(QUIET, status=Status.PAUSED), replace(QUIET, status=Status.FAILED)),
        (AlertRule(market=MARKET, kind="price", level=101), QUIET, replace(QUIET, mid=101.5)),
        (AlertRule(market=MARKET, kind="price", level=99), QUIET, replace(QUIET, mid=98.0)),
    ],
    ids=["up", "down", "score", "too few scored", "stale", "failed", "price up", "price down"],
)  # fmt: skip
def test_a_rule_goes_off_when_its_condition_begins(rule: AlertRule, below: MarketState, at: MarketState) -> None:
    now = [0.0]
    book = AlertBook(clock=lambda: now[0])
    book.put(rule)
    assert book.check(QUIET) == [] and book.check(below) == []
    (event,) = book.check(at)
    assert event.rule == rule and "BTC/USDT" in event.text and book.log(-1.0) == [event]
    assert "_" not in event.text and ("forward, 50 steps" in event.text) == (rule.head == "forward_50")
    now[0] = 61.0
    assert book.check(at) == []  # it still holds
    back = len(book.check(below))  # a price crosses its level on the way back too
    now[0] = 122.0
    assert back == (rule.kind == "price") and len(book.check(at)) == 1


def test_within_the_cooldown_it_stays_silent() -> None:
    now = [0.0]
    book = AlertBook(clock=lambda: now[0])
    book.put(AlertRule(market=MARKET, kind="probability", head="forward_50", level=0.7, cooldown_s=30))
    told = []
    for second in range(0, 100, 5):
        now[0] = second + 1.0
        told += [second for _ in book.check(seen(0.9 if second % 10 else 0.1))]
    assert told == [5, 35, 65, 95]


def test_other_markets_and_disabled_rules_are_left_alone() -> None:
    book = AlertBook()
    book.put(AlertRule(market="live/kraken/BTC/USD", kind="feed"))
    book.put(AlertRule(market=MARKET, kind="feed", enabled=False))
    assert book.check(replace(QUIET, status=Status.FAILED)) == []


def test_rules_survive_a_restart_and_a_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "alerts" / "alerts.json"
    book = AlertBook(path)
    rules = [
        AlertRule(market=MARKET, kind="price", level=64_000.5),
        AlertRule(market=MARKET, kind="feed", webhook="https://a.b/c"),
    ]
    for rule in rules:
        book.put(rule)
    assert AlertBook(path).rules() == rules == rules_from_json(rules_to_json(rules))
    book.remove(rules[0].id)
    assert AlertBook(path).rules() == rules[1:]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "holds no alerts"),
        ("[]", "holds no alerts"),
        ('{"alerts": [1]}', "holds no alerts"),
        ('{"alerts": [{"market": "m", "kind": "moon"}]}', "cannot watch 'moon'"),
        ('{"alerts": [{"market": "m", "kind": "price", "level": "high"}]}', "not a number"),
        ('{"alerts": [{"market": "m", "kind": "price", "level": NaN}]}', "not a number"),
        ('{"alerts": [{"market": "m", "kind": "probability", "level": 1.5}]}', "does not exist"),
        ('{"alerts": [{"market": "m", "kind": "feed", "webhook": "file:///etc/passwd"}]}', "no web address"),
        ('{"alerts": [{"market": "m", "kind": "feed", "run": "rm"}]}', "unknown field 'run'"),
        ("[" * 100_000, "holds no alerts"),
    ],
)
def test_a_bad_file_is_one_sentence(text: str, why: str) -> None:
    with pytest.raises(AlertError, match=why):
        rules_from_json(text)


async def delivered(answers: list[int]) -> tuple[bool, list[dict[str, object]], list[float]]:
    """Send one event to a local receiver that gives these statuses in turn; what it got, and the loop's times of arrival."""
    got: list[dict[str, object]] = []
    times: list[float] = []

    async def receive(request: web.Request) -> web.Response:
        body = await request.read()
        sent_at = request.headers["X-Observatory-Time"]
        expected = hmac.new(b"shared", f"{sent_at}.".encode() + body, hashlib.sha256).hexdigest()
        assert request.headers["X-Observatory-Signature"] == f"sha256={expected}"
        got.append(json.loads(body))
        times.append(asyncio.get_running_loop().time())
        return web.Response(status=answers[len(got) - 1])

    app = web.Application()
    app.router.add_post("/hook", receive)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    rule = AlertRule(market=MARKET, kind="price", level=101, webhook=f"http://127.0.0.1:{port}/hook")
    book = AlertBook(clock=lambda: 1_700_000_000.0)
    book.put(rule)
    book.check(QUIET)
    (event,) = book.check(replace(QUIET, mid=102.0))
    try:
        return await send(event, secret="shared", tries=len(answers), first_pause_s=0.05), got, times
    finally:
        await runner.cleanup()


def test_a_webhook_is_signed_and_tried_again_with_longer_pauses() -> None:
    taken, got, times = asyncio.run(delivered([500, 429, 503, 204]))
    assert taken and len(got) == 4 and all(one == got[0] for one in got)
    assert got[0]["market"] == MARKET and got[0]["kind"] == "price" and "crossed" in str(got[0]["text"])
    pauses = [b - a for a, b in pairwise(times)]
    assert all(pause >= 0.05 * 2**i for i, pause in enumerate(pauses))


def test_a_refusal_is_final_and_failure_ends() -> None:
    taken, got, _ = asyncio.run(delivered([403, 200]))
    assert not taken and len(got) == 1
    taken, got, _ = asyncio.run(delivered([500, 500]))
    assert not taken and len(got) == 2


def test_a_receiver_that_is_away_is_no_error() -> None:
    rule = AlertRule(market=MARKET, kind="feed", webhook="http://127.0.0.1:9/none")
    book = AlertBook()
    book.put(rule)
    (event,) = book.check(replace(QUIET, status=Status.FAILED, mid=math.nan))
    assert isinstance(event, AlertEvent)
    assert asyncio.run(send(event, secret="s", tries=2, first_pause_s=0.01)) is False
