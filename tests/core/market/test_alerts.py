"""Alerts: each kind of rule at and around its level, told once and to its owner, kept in a file, sent where it is public."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import math
import re
import socket
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from aiohttp import web

from core.market.alerts import (
    MAX_OWNERS,
    MAX_RULES,
    AlertBook,
    AlertError,
    AlertEvent,
    AlertRule,
    Condition,
    MarketState,
    rules_from_json,
    rules_to_json,
)
from core.market.marks import ASK, BID, KINDS, Mark
from core.market.session_view import Status
from core.market.webhook import NETWORKS_VARIABLE, check_receiver, is_public, send
from core.messages import compose

MARKET = "live/binance/BTC/USDT"
ME = "person:ana@desk.example"
QUIET = MarketState(
    feed=MARKET,
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
        (AlertRule(market=MARKET, kind="feed"), QUIET, replace(QUIET, status=Status.STALLED)),
        (AlertRule(market=MARKET, kind="feed"), replace(QUIET, status=Status.PAUSED), replace(QUIET, status=Status.FAILED)),
        (AlertRule(market=MARKET, kind="price", level=101), QUIET, replace(QUIET, mid=101.5)),
        (AlertRule(market=MARKET, kind="price", level=99), QUIET, replace(QUIET, mid=98.0)),
        (AlertRule(market=MARKET, kind="imbalance", level=0.6), replace(QUIET, imbalance=0.59), replace(QUIET, imbalance=0.6)),
        (AlertRule(market=MARKET, kind="imbalance", direction="down", level=0.6), replace(QUIET, imbalance=0.9),
         replace(QUIET, imbalance=-0.7)),
        (AlertRule(market=MARKET, kind="delta", level=5), replace(QUIET, delta=9.0, move=0.5),
         replace(QUIET, delta=9.0, move=-0.5)),
        (AlertRule(market=MARKET, kind="delta", direction="down", level=5), replace(QUIET, delta=-4.9, move=0.0),
         replace(QUIET, delta=-5.0, move=0.0)),
    ],
    ids=["up", "down", "score", "too few scored", "stale", "stalled", "failed", "price up", "price down", "bids", "asks",
         "bought and fell", "sold and stood"],
)  # fmt: skip
def test_a_rule_goes_off_when_its_condition_begins(rule: AlertRule, below: MarketState, at: MarketState) -> None:
    now = [0.0]
    book = AlertBook(clock=lambda: now[0])
    book.put(rule)
    assert book.check(QUIET) == [] and book.check(below) == []
    (event,) = book.check(at)
    assert event.rule == rule and "BTC/USDT" in event.text and book.log("", -1.0) == [event]
    assert "_" not in event.text and ("forward, 50 steps" in event.text) == (rule.head == "forward_50")
    now[0] = 61.0
    assert book.check(at) == []  # it still holds
    back = len(book.check(below))  # a price crosses its level on the way back too
    now[0] = 122.0
    assert back == (rule.kind == "price") and len(book.check(at)) == 1


LEANS = AlertRule(
    market=MARKET,
    kind="imbalance",
    level=0.6,
    also=(Condition(kind="probability", head="forward_50", level=0.7),),
    for_s=3,
    cooldown_s=0,
)


def test_conditions_that_combine_hold_together_as_long_as_is_asked() -> None:
    now, told = [0.0], []
    book = AlertBook(clock=lambda: now[0])
    book.put(LEANS)
    both, one = seen(0.8, imbalance=0.7), seen(0.8, imbalance=0.1)
    for second, state in enumerate([both, both, one, both, both, both, both, both, one, both]):
        now[0] = float(second)
        told += [(second, event.text) for event in book.check(state)]
    assert told == [(6, "BTC/USDT: the book's imbalance is +70.0%; P(up) is 80.0% at forward, 50 steps")]


def test_a_wall_that_is_eaten_is_told_once_and_with_what_lasts_beside_it() -> None:
    """Marks of the look before are not told again; what lasts has to have held when it happens."""
    now = [0.0]
    book = AlertBook(clock=lambda: now[0])
    book.put(AlertRule(market=MARKET, kind="wall", level=5, cooldown_s=0))
    book.put(replace(LEANS, kind="wall", level=5, id="a" * 32))
    asks = (Mark(500, KINDS.index("eaten"), ASK, 101.0, 8.0), Mark(1500, KINDS.index("eaten"), BID, 99.0, 9.0))
    small = Mark(2500, KINDS.index("eaten"), ASK, 102.0, 4.0)
    looks = [(0, (), 0.8), (1000, asks[:1], 0.8), (2000, asks, 0.8), (3000, (*asks, small), 0.8)]
    looks += [(4000, (*asks, small, Mark(3900, 4, ASK, 103.0, 6.0)), 0.8)]
    told = []
    for second, (time_ms, eaten, p_up) in enumerate(looks):
        now[0] = float(second)
        told += [(second, len(event.rule.also), event.text) for event in book.check(seen(p_up, time_ms=time_ms, eaten=eaten))]
    assert told == [
        (1, 0, "BTC/USDT: 8 that rested at 101 was eaten"),
        (4, 0, "BTC/USDT: 6 that rested at 103 was eaten"),
        (4, 1, "BTC/USDT: 6 that rested at 103 was eaten; P(up) is 80.0% at forward, 50 steps"),
    ]


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
        AlertRule(market=MARKET, kind="price", level=64_000.5, owner=ME),
        AlertRule(market=MARKET, kind="feed", webhook="https://a.b/c", owner=ME),
        replace(LEANS, owner=ME),
    ]
    for rule in rules:
        book.put(rule)
    assert AlertBook(path).rules(ME) == rules
    book.change(ME, lambda kept: kept[1:])
    assert AlertBook(path).rules(ME) == rules[1:]


def test_a_file_to_take_away_holds_no_address_and_what_is_read_gets_ids_and_an_owner_here() -> None:
    rule = AlertRule(market=MARKET, kind="price", level=64_000.5, webhook="https://hooks.example/secret", owner=ME)
    text = rules_to_json([rule])
    assert "secret" not in text and "hooks.example" not in text and ME not in text and rule.id not in text
    assert rules_from_json(rules_to_json([LEANS]))[0].conditions[1:] == LEANS.also
    (read,) = rules_from_json(text, "another")
    assert replace(read, id=rule.id, owner=ME, webhook=rule.webhook) == rule and read.id != rule.id and read.owner == "another"
    (given,) = rules_from_json('{"alerts": [{"market": "m", "kind": "feed", "id": "kind"}]}')
    assert re.fullmatch(r"[0-9a-f]{32}", given.id)


def test_a_mid_is_told_with_its_half_tick() -> None:
    book = AlertBook()
    book.put(AlertRule(market=MARKET, kind="price", level=100_123.0))
    assert book.check(replace(QUIET, mid=100_122.0)) == []
    (event,) = book.check(replace(QUIET, mid=100_123.005))
    assert event.text.endswith("crossed 100,123 and is 100,123.005")


def test_owners_see_and_change_their_own_alone() -> None:
    book = AlertBook()
    for owner in (ME, "tab:a"):
        book.put(AlertRule(market=MARKET, kind="feed", owner=owner))
    (mine,), (theirs,) = book.rules(ME), book.rules("tab:a")
    book.change("tab:a", lambda rules: [rule for rule in rules if rule.id != mine.id])
    book.change("tab:a", lambda _: [replace(mine, head="forward_50")])
    assert book.rules(ME) == [mine] and book.rules("tab:a") == []
    book.put(theirs)
    book.check(replace(QUIET, status=Status.FAILED))
    assert [event.rule for event in book.log(ME)] == [mine] and [event.rule for event in book.log("tab:a")] == [theirs]


def test_what_one_plays_sets_off_ones_own_alerts_alone() -> None:
    book = AlertBook()
    for tab in ("a", "b"):
        book.meet(tab, f"tab:{tab}")
        book.put(AlertRule(market="recording/x", kind="price", level=101, owner=f"tab:{tab}"))
    here = replace(QUIET, market="recording/x", feed="recording/x~a", owners=book.owners_of(["a", "unknown"]))
    there = replace(here, feed="recording/x~b", mid=200.0, owners=book.owners_of(["b"]))
    assert book.check(here) == [] and book.check(there) == [] and book.check(replace(here, mid=100.5)) == []
    (event,) = book.check(replace(here, mid=102.0))
    assert event.rule.owner == "tab:a" and event.feed == "recording/x~a" and book.log("tab:b") == []


def test_there_are_bounds_and_a_crowd_of_tabs_costs_no_persons_rules() -> None:
    book = AlertBook(lasting=lambda owner: owner == ME)
    book.put(AlertRule(market=MARKET, kind="feed", owner=ME))
    for tab in range(MAX_OWNERS + 20):
        book.put(AlertRule(market=MARKET, kind="feed", owner=f"tab:{tab}"))
    assert sum(bool(book.rules(f"tab:{tab}")) for tab in range(MAX_OWNERS + 20)) == MAX_OWNERS
    assert len(book.rules(ME)) == 1
    full = [AlertRule(market=MARKET, kind="feed", owner=ME) for _ in range(MAX_RULES)]
    book.change(ME, lambda _: full)
    with pytest.raises(AlertError, match="41 alerts are too many: 40 at most"):
        book.put(AlertRule(market=MARKET, kind="feed", owner=ME))
    with pytest.raises(AlertError, match="too many"):
        rules_from_json(json.dumps({"alerts": [{"market": "m", "kind": "feed"}] * (MAX_RULES + 1)}))
    assert book.rules(ME) == full


def test_only_those_that_last_are_written_and_a_disk_that_refuses_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "alerts.json"
    book = AlertBook(path, lasting=lambda owner: owner == ME)
    book.put(AlertRule(market=MARKET, kind="feed", owner="tab:a"))
    assert not path.exists()
    book.put(AlertRule(market=MARKET, kind="feed", owner=ME))
    assert [one["owner"] for one in json.loads(path.read_text())["alerts"]] == [ME]
    (tmp_path / "file").write_text("")
    nowhere = AlertBook(tmp_path / "file" / "alerts.json")
    with pytest.raises(AlertError, match="the alerts cannot be written: "):
        nowhere.put(AlertRule(market=MARKET, kind="feed", owner=ME))
    assert nowhere.rules(ME) == []


def test_what_is_broken_in_the_file_is_left_out_and_kept_aside(tmp_path: Path) -> None:
    path = tmp_path / "alerts.json"
    good = {"market": MARKET, "kind": "feed"}
    broken = [{"market": MARKET, "kind": "feed", "head": [1]}, {**good, "level": "x"}, {"kind": "feed"}, {**good, "owner": 5}]
    path.write_text(json.dumps({"alerts": [{**good, "id": "kind"}, *broken]}))
    (rule,) = AlertBook(path).rules("operator")
    assert rule.id != "kind" and (tmp_path / "alerts.damaged.json").read_text() == path.read_text()
    for text in ("[]", "{", '{"alerts": {}}', "[" * 100_000):
        path.write_text(text)
        assert AlertBook(path).markets() == set()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "holds no alerts"),
        ("[]", "holds no alerts"),
        ('{"alerts": [1]}', "holds no alerts"),
        ('{"alerts": [{"market": "m", "kind": "moon"}]}', "cannot watch 'moon'"),
        ('{"alerts": [{"market": "m", "kind": "price", "level": "high"}]}', "not a number"),
        ('{"alerts": [{"market": "m", "kind": "price", "level": NaN}]}', "not a number"),
        ('{"alerts": [{"market": "m", "kind": "probability", "head": "forward_10", "level": 1.5}]}', "from 0 to 1 here, not 1.5"),
        ('{"alerts": [{"market": "m", "kind": "feed", "webhook": "file:///etc/passwd"}]}', "no web address"),
        ('{"alerts": [{"market": "m", "kind": "feed", "webhook": "https:///x"}]}', "no web address"),
        ('{"alerts": [{"market": "m", "kind": "feed", "webhook": "https://[/x"}]}', "no web address"),
        ('{"alerts": [{"market": "m", "kind": "feed", "run": "rm"}]}', "unknown field 'run'"),
        ('{"alerts": [{"market": "m", "kind": "feed", "owner": "operator"}]}', "names owners"),
        ('{"alerts": [{"market": "m", "kind": "feed", "head": [1]}]}', "head is not a text"),
        ('{"alerts": [{"market": "m", "kind": "feed", "head": "![x](http://a)"}]}', "no label and horizon"),
        ('{"alerts": [{"market": "m", "kind": "score"}]}', "no label and horizon"),
        ('{"alerts": [{"market": "m", "kind": ["feed"]}]}', "kind is not a text"),
        ('{"alerts": [{"market": "m\\n", "kind": "feed"}]}', "needs the key of a market"),
        ('{"alerts": [{"market": "%s", "kind": "feed"}]}' % ("m" * 300), "not a text of at most"),
        ('{"alerts": [{"market": "m", "kind": "price", "level": true}]}', "not a number"),
        ('{"alerts": [{"market": "m", "kind": "price", "level": 1e15}]}', r"not 1e\+15"),
        ('{"alerts": [{"market": "m", "kind": "imbalance", "level": -0.1}]}', "from 0 to 1 here"),
        ('{"alerts": [{"market": "m", "kind": "feed", "also": [{"kind": "moon"}]}]}', "cannot watch 'moon'"),
        ('{"alerts": [{"market": "m", "kind": "feed", "also": [{"kind": "feed", "market": "m"}]}]}', "unknown field 'market'"),
        ('{"alerts": [{"market": "m", "kind": "feed", "also": [{"level": 1}]}]}', "lacks the field 'kind'"),
        ('{"alerts": [{"market": "m", "kind": "feed", "also": {"kind": "feed"}}]}', "no conditions under 'also'"),
        (json.dumps({"alerts": [{"market": "m", "kind": "feed", "also": 4 * [{"kind": "feed"}]}]}), "4 things at most"),
        ('{"alerts": [{"market": "m", "kind": "price", "for_s": 3}]}', "does not last 3 seconds"),
        ('{"alerts": [{"market": "m", "kind": "feed", "for_s": 1e9}]}', "not between 0 and"),
        ('{"alerts": [{"market": "m", "kind": "price", "level": 1%s}]}' % ("0" * 400), "not a number"),
        ('{"alerts": [{"market": "m", "kind": "feed", "cooldown_s": Infinity}]}', "not a number"),
        ('{"alerts": [{"market": "m", "kind": "feed", "cooldown_s": -1}]}', "not between 0 and"),
        ('{"alerts": [{"market": "m", "kind": "feed", "sound": "no"}]}', "neither true nor false"),
        ('{"alerts": [{"kind": "feed"}]}', "lacks the field 'market'"),
        ('{"alerts": {"market": "m"}}', "holds no alerts"),
        ("[" * 100_000, "holds no alerts"),
    ],
)
def test_a_bad_file_is_one_sentence(text: str, why: str) -> None:
    with pytest.raises(AlertError, match=why):
        rules_from_json(text)


@pytest.fixture
def own_receiver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets webhooks go to this machine, where the receivers of these tests are."""
    monkeypatch.setenv(NETWORKS_VARIABLE, "127.0.0.0/8")


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
        status = answers[len(got) - 1]
        return web.Response(status=status, headers={"Location": "/elsewhere"} if 300 <= status < 400 else {})

    async def elsewhere(_: web.Request) -> web.Response:
        got.append({"market": "elsewhere"})
        return web.Response()

    app = web.Application()
    app.router.add_post("/hook", receive)
    app.router.add_route("*", "/elsewhere", elsewhere)
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


@pytest.mark.usefixtures("own_receiver")
def test_a_webhook_is_signed_and_tried_again_with_longer_pauses() -> None:
    taken, got, times = asyncio.run(delivered([500, 429, 503, 204]))
    assert taken and len(got) == 4 and all(one == got[0] for one in got)
    assert got[0]["market"] == MARKET and got[0]["kind"] == "price" and "crossed" in str(got[0]["text"])
    pauses = [b - a for a, b in pairwise(times)]
    assert all(pause >= 0.05 * 2**i for i, pause in enumerate(pauses))


@pytest.mark.usefixtures("own_receiver")
def test_a_refusal_is_final_and_failure_ends() -> None:
    taken, got, _ = asyncio.run(delivered([403, 200]))
    assert not taken and len(got) == 1
    taken, got, _ = asyncio.run(delivered([500, 500]))
    assert not taken and len(got) == 2


@pytest.mark.usefixtures("own_receiver")
def test_a_receiver_that_is_away_is_no_error() -> None:
    rule = AlertRule(market=MARKET, kind="feed", webhook="http://127.0.0.1:9/none")
    book = AlertBook()
    book.put(rule)
    (event,) = book.check(replace(QUIET, status=Status.FAILED, mid=math.nan))
    assert isinstance(event, AlertEvent)
    assert asyncio.run(send(event, secret="s", tries=2, first_pause_s=0.01)) is False


PRIVATE = [
    *("127.0.0.1", "127.8.9.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "100.100.100.200"),
    *("169.254.169.254", "168.63.129.16", "224.0.0.1", "255.255.255.255", "192.0.0.192", "198.18.0.1"),
    *("::1", "::", "fe80::1%eth0", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254"),
    *("2002:7f00:1::", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2001:0:7f00:1::", "2001:db8::1"),
    *("::127.0.0.1", "::ffff:0:127.0.0.1", "::10.0.0.1", "fec0::1", "3fff::1", "5f00::1", "4000::1"),
]


@pytest.mark.parametrize("address", PRIVATE)
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.215.14", "1.1.1.1", "2606:4700:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"])
def test_addresses_that_are_public(address: str) -> None:
    assert is_public(address)


def test_the_environment_may_allow_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NETWORKS_VARIABLE, "10.1.0.0/16, nonsense, fd00::/8")
    assert is_public("10.1.2.3") and is_public("fd00::1") and not is_public("10.2.0.1") and not is_public("127.0.0.1")


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "rebound.example"]
)
def test_nothing_is_sent_to_this_machine_however_it_is_written(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that was public when the rule was set, and is this machine's when it is sent to, included."""
    plain = socket.getaddrinfo

    def rebound(name: str, *arguments: object, **options: object) -> object:
        return plain("127.0.0.1" if name == "rebound.example" else name, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", rebound)
    asked = []

    async def tried() -> bool:
        async def accept(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked.append(writer.get_extra_info("peername"))
            writer.close()

        server = await asyncio.start_server(accept, ["127.0.0.1", "::1"], 0)
        ports = {one.family: one.getsockname()[1] for one in server.sockets}
        port = ports[socket.AF_INET6 if host == "[::1]" else socket.AF_INET]
        rule = AlertRule(market=MARKET, kind="feed", webhook=f"http://{host}:{port}/")
        event = AlertEvent(rule=rule, feed=MARKET, at=1.0, text=compose("x"))
        try:
            return await send(event, secret="s", tries=1)
        finally:
            server.close()

    assert asyncio.run(tried()) is False and asked == []
    with pytest.raises(AlertError, match="is not on the public internet"):
        asyncio.run(check_receiver(f"http://{host}/"))


def test_a_redirect_is_not_followed(own_receiver: None) -> None:
    taken, got, _ = asyncio.run(delivered([307, 200]))
    assert taken and [one["market"] for one in got] == [MARKET, MARKET]


def test_a_receiver_whose_name_is_unknown_is_refused_when_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> object:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(AlertError, match=r"the host nowhere\.example of the webhook is not to be found"):
        asyncio.run(check_receiver("https://nowhere.example/x"))
