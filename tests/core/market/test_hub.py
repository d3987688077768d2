"""The hub: one session per feed, shared by its viewers, stopped some time after the last one left; nothing left behind."""

import asyncio
import gc
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from core.market import hub as hub_module
from core.market.feeds.background import BackgroundLoop
from core.market.feeds.protocol import FeedFailed, Status
from core.market.feeds.recording import RecordingFeed
from core.market.hub import MAX_FEEDS, MAX_FEEDS_OF_ADDRESS, REST_S, Hub, TooManyFeeds
from core.market.predictor import Predictor, windows_of
from core.market.session import MarketSession
from tests.core.market.feeds_for_tests import ScriptedFeed, SetClock, books, replaying, wait_until
from tests.core.market.helpers import frame_from_rows, real_rows

ROWS = real_rows(5)
FOREVER = 1_000.0


def never() -> MarketSession:
    raise AssertionError("a second session was started")


def test_two_viewers_share_a_session_and_its_predictions(hub: Hub, predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    predict = predictor.predict
    monkeypatch.setattr(predictor, "predict", lambda windows, entry: asked.append(len(windows)) or predict(windows, entry))
    feed = ScriptedFeed(replaying(ROWS[:100]), together=5)
    first = hub.watch("ann", feed.key, lambda: MarketSession(feed, predictor))
    second = hub.watch("bob", feed.key, never)
    assert first is second
    wait_until(lambda: first.step == 100)
    for _ in range(5):
        for viewer in ("ann", "bob"):
            hub.watch(viewer, feed.key, never).view()
    assert feed.opened == 1
    assert sum(asked) == 100 - predictor.window + 1
    assert (hub.watched(), first.step) == ({feed.key: 2}, 100)
    assert 0 <= time.time() - first.started < 60
    assert first.view().step == second.view().step


def test_a_reaper_that_ended_is_started_by_who_watches_a_feed_that_runs(hub: Hub, predictor: Predictor) -> None:
    feed = ScriptedFeed(replaying(ROWS[:20]))
    hub.watch("ann", feed.key, lambda: MarketSession(feed, predictor))
    ended = hub._reaper
    assert ended is not None and ended.cancel()
    hub.watch("bob", feed.key, never)
    assert hub._reaper is not ended and hub._reaper is not None and not hub._reaper.done()


def opened(hub: Hub, predictor: Predictor, viewer: str, key: str, **options: str) -> MarketSession:
    """The session of a feed in which nothing happens."""
    return hub.watch(viewer, key, lambda: MarketSession(ScriptedFeed([], key=key), predictor), **options)


GRACE = 0.2  # by the test's clock; the hub looks four times as often by the real one


@pytest.fixture(autouse=True)
def _grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "GRACE_S", FOREVER)


@pytest.fixture
def hub(loop: BackgroundLoop) -> Hub:
    return Hub(loop)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """The hub's, whose grace period is short."""
    clock = SetClock()
    monkeypatch.setattr(hub_module, "time", SimpleNamespace(monotonic=clock))
    monkeypatch.setattr(hub_module, "GRACE_S", GRACE)
    return clock


def look_around() -> None:
    """Long enough for the hub to have looked several times."""
    threading.Event().wait(4 * GRACE)


def test_a_feed_stops_after_the_grace_period_and_not_before(hub: Hub, predictor: Predictor, clock: SetClock) -> None:
    feed = ScriptedFeed(replaying(ROWS[:30]))
    session = hub.watch("ann", feed.key, lambda: MarketSession(feed, predictor))
    wait_until(feed.reached.is_set)
    for _ in range(10):  # asking again and again holds it, for longer than the grace period
        clock.now += 0.9 * GRACE
        assert hub.watch("ann", feed.key, never) is session
    clock.now += 0.9 * GRACE
    look_around()
    assert feed.closed == 0
    clock.now += 0.2 * GRACE
    wait_until(lambda: feed.closed == 1)
    assert hub.watched() == {}
    again = hub.watch("ann", feed.key, lambda: MarketSession(feed, predictor))
    assert again is not session
    wait_until(lambda: feed.opened == 2)
    clock.now += 2 * GRACE
    wait_until(lambda: feed.closed == 2)  # the one who stops feeds was started anew too


def test_leaving_starts_the_grace_period(hub: Hub, predictor: Predictor, clock: SetClock) -> None:
    feed = ScriptedFeed([])
    hub.watch("ann", feed.key, lambda: MarketSession(feed, predictor))
    hub.watch("bob", feed.key, never)
    wait_until(feed.reached.is_set)
    hub.leave("ann", feed.key)
    assert list(hub.watched().values()) == [1]
    clock.now += 0.5 * GRACE
    hub.leave("bob", feed.key)
    assert list(hub.watched().values()) == [0]
    clock.now += 0.9 * GRACE  # since Bob left; more than the whole since he was last heard of
    look_around()
    assert feed.closed == 0  # a page change is no reason to stop
    hub.watch("ann", feed.key, never)
    assert list(hub.watched().values()) == [1]
    hub.leave("ann", feed.key)
    clock.now += 1.1 * GRACE
    wait_until(lambda: feed.closed == 1)


async def connect(session: MarketSession, until: threading.Event) -> None:
    """A browser at the session's stream."""
    with session.frames.stream.subscribe():
        await asyncio.to_thread(until.wait)


def test_while_nobody_watches_nothing_is_called_and_who_comes_back_finds_a_whole_window(
    hub: Hub, predictor: Predictor, loop: BackgroundLoop, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "GRACE_S", 20.0)
    feed, left = ScriptedFeed(replaying(ROWS[:60])), threading.Event()
    session = hub.watch("ann", feed.key, lambda: MarketSession(feed, predictor))
    connected = loop.submit(connect(session, left))
    wait_until(lambda: session.step == 60 and session.frames.stream.viewers == 1)
    clock.now += 100
    threading.Event().wait(1.5)  # the hub has looked: whoever is connected watches, asking or not
    assert not session.rests and hub.sessions() == [session]
    left.set()
    connected.result(10)
    clock.now += REST_S
    wait_until(lambda: session.rests)
    feed.send(*books(ROWS[60:100]))
    wait_until(lambda: session.step == 100)
    assert hub.join("ann", feed.key) is session
    assert not session.rests and session.view().warm == predictor.window
    feed.send(*books(ROWS[100:130]))
    wait_until(lambda: session.step == 130)
    called = [*range(23, 60), *range(100, 130)]
    view = session.view()
    assert np.array_equal(view.timestamps, ROWS.timestamps[:130])
    assert view.predictions["timestamp"].tolist() == ROWS.timestamps[called].tolist()
    expected = predictor.predict(windows_of(ROWS.levels, called, predictor.window), session.entry)
    np.testing.assert_allclose(view.predictions["probabilities"], expected.probabilities, atol=1e-5)
    # what was called before is scored by the rows that came meanwhile, and a row without a call counts nowhere
    ends = [row for row in called if row + 10 < 130]
    assert session.answer_score(0).outcomes == len(ends)
    assert (view.predictions["came"][:, 0] >= 0).tolist() == [row in ends for row in called]


def test_a_silent_viewer_is_no_longer_counted(hub: Hub, predictor: Predictor, clock: SetClock) -> None:
    feed = ScriptedFeed([])
    hub.watch("gone", feed.key, lambda: MarketSession(feed, predictor))
    hub.watch("ann", feed.key, never)
    assert list(hub.watched().values()) == [2]
    clock.now += 0.6 * GRACE
    hub.watch("ann", feed.key, never)
    clock.now += 0.6 * GRACE
    assert list(hub.watched().values()) == [1]
    wait_until(lambda: list(hub._running[feed.key].viewers) == ["ann"])  # and is forgotten, or a long day would fill up with them


def test_a_failure_is_handed_out_until_a_restart_and_two_who_do_so_at_once_start_it_once(hub: Hub, predictor: Predictor) -> None:
    """The second found the session failed before the first pressed: what runs by now is not stopped for it."""
    feeds: list[ScriptedFeed] = []

    def start() -> MarketSession:
        feeds.append(ScriptedFeed([*replaying(ROWS[:30]), *([FeedFailed("No such market.")] if not feeds else [])]))
        return MarketSession(feeds[-1], predictor)

    failed = hub.watch("ann", "one", start)
    wait_until(lambda: failed.status_now()[0] is Status.FAILED)
    assert hub.watch("bob", "one", never) is failed
    assert failed.status_now()[1] == "No such market."
    hub.restart("one", failed)
    anew = hub.watch("ann", "one", start)
    hub.restart("one", failed)
    assert hub.watch("bob", "one", start) is anew is not failed and len(feeds) == 2
    wait_until(lambda: anew.step == 30)
    assert anew.status_now()[0] is Status.REPLAYING


def test_the_same_session_may_be_started_anew(hub: Hub, predictor: Predictor) -> None:
    """A tab that slept through the grace period comes back with the session it knew."""
    feed = ScriptedFeed(replaying(ROWS[:60]))
    session = hub.watch("ann", feed.key, lambda: MarketSession(feed, predictor))
    wait_until(lambda: session.step == 60)
    for _ in range(3):
        hub.restart(feed.key)
        assert hub.watch("ann", feed.key, lambda: session) is session
    wait_until(lambda: (feed.opened, feed.closed) == (4, 3) or feed.opened == feed.closed + 1)
    wait_until(lambda: session.status_now()[0] is Status.REPLAYING)
    feed.script = []
    assert session.status_now()[1] == ""


def test_a_session_that_cannot_be_made_leaves_nothing(hub: Hub, predictor: Predictor) -> None:
    hub.leave("ann", "one")
    hub.restart("one")  # nor is it a fault to leave what is not watched, or to start it anew

    def broken() -> MarketSession:
        raise ValueError("the file is no book")

    with pytest.raises(ValueError, match="the file is no book"):
        hub.watch("ann", "one", broken)
    assert hub.watched() == {}
    assert isinstance(hub.watch("ann", "one", lambda: MarketSession(ScriptedFeed([], key="one"), predictor)), MarketSession)


def test_nobody_waits_for_the_start_of_anothers_feed(hub: Hub, predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose feed runs already watches on; who wants the feed that is being started gets it, and a place is given once."""
    monkeypatch.setattr(hub_module, "MAX_FEEDS", 2)
    one = opened(hub, predictor, "ann", "one")
    loading, go_on = threading.Event(), threading.Event()

    def slow() -> MarketSession:
        loading.set()
        assert go_on.wait(20)
        return MarketSession(ScriptedFeed([], key="two"), predictor)

    with ThreadPoolExecutor() as pool:
        try:
            first = pool.submit(hub.watch, "bob", "two", slow)
            assert loading.wait(10)
            second = pool.submit(hub.watch, "cat", "two", never)
            assert pool.submit(hub.watch, "ann", "one", never).result(5) is one
            assert pool.submit(hub.join, "ann", "two").result(5) is None
            assert list(pool.submit(hub.watched).result(5)) == ["one"]
            third = opened(hub, predictor, "dan", "three")
        finally:
            go_on.set()
        with pytest.raises(TooManyFeeds):
            first.result(10)
        with pytest.raises(TooManyFeeds):
            second.result(10)
        assert hub.sessions() == [one, third]
        hub.restart("three")
        two = pool.submit(hub.watch, "bob", "two", slow).result(10)
        assert hub.watch("cat", "two", never) is two


def test_stopping_closes_every_feed_and_leaves_no_task_and_no_thread(predictor: Predictor) -> None:
    before = set(threading.enumerate())
    loop = BackgroundLoop("stopping")

    def tasks() -> int:
        async def count() -> int:
            return len(asyncio.all_tasks())

        return loop.submit(count()).result(10)

    hub, idle = Hub(loop), tasks()
    feeds = [ScriptedFeed(replaying(ROWS[:60]), key=f"feed/{i}", clock=clock) for i, clock in enumerate(("event", "wall"))]
    for feed in feeds:
        hub.watch("ann", feed.key, lambda feed=feed: MarketSession(feed, predictor))
    wait_until(lambda: all(feed.reached.is_set() for feed in feeds))
    assert tasks() >= idle + 2 * 2 + 1  # two sessions with a worker each, one clock, the one who stops feeds
    hub.stop()
    wait_until(lambda: tasks() == idle)
    loop.stop()
    assert [(feed.opened, feed.closed) for feed in feeds] == [(1, 1), (1, 1)]
    assert hub.watched() == {}
    wait_until(lambda: set(threading.enumerate()) <= before)
    assert not loop.running


def test_the_process_has_one_hub_and_can_begin_again(predictor: Predictor) -> None:
    one = hub_module.hub()
    assert hub_module.hub() is one
    feed = ScriptedFeed([], key="one")
    one.watch("ann", "one", lambda: MarketSession(feed, predictor))
    wait_until(feed.reached.is_set)
    hub_module.shutdown()
    hub_module.shutdown()
    assert feed.closed == 1
    other = hub_module.hub()
    try:
        assert other is not one
        again = ScriptedFeed([], key="one")
        other.watch("ann", "one", lambda: MarketSession(again, predictor))
        wait_until(again.reached.is_set)
    finally:
        hub_module.shutdown()


def test_one_viewer_may_open_so_many_feeds_and_all_together_so_many(
    hub: Hub, predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "MAX_FEEDS", 5)
    monkeypatch.setattr(hub_module, "MAX_FEEDS_OF_VIEWER", 3)
    open_feed = partial(opened, hub, predictor)
    first = open_feed("ann", "ann/0")
    for number in (1, 2):
        open_feed("ann", f"ann/{number}")
    with pytest.raises(TooManyFeeds, match=r"^You watch 3 markets already: close one of their tabs first\.$"):
        open_feed("ann", "ann/3")
    assert open_feed("ann", "ann/0") is first  # what runs goes on
    assert open_feed("bob", "ann/0") is first  # and may be shared
    for number in range(2):
        open_feed("bob", f"bob/{number}")
    with pytest.raises(
        TooManyFeeds, match=r"^5 markets are being watched on this server, and it takes no more: try again later\.$"
    ):
        open_feed("eve", "eve/0")
    assert len(hub.watched()) == 5


def test_live_feeds_own_playbacks_and_shared_ones_leave_each_other_room(
    hub: Hub, predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "MAX_FEEDS", 2)
    open_feed = partial(opened, hub, predictor)
    for number in range(2):
        for key in (f"recording/a~{number}", f"live/venue/{number}"):
            open_feed(f"visitor {number}", key)
    for key in ("recording/a~2", "simulated/7~2", "live/venue/2"):
        with pytest.raises(TooManyFeeds, match=r"^2 markets are being watched on this server"):
            open_feed("eve", key)
    assert open_feed("eve", "recording/a") is open_feed("bob", "recording/a")  # which all share


def test_the_tabs_of_one_address_do_not_take_every_place(hub: Hub, predictor: Predictor) -> None:

    def open_feed(tab: int, key: str, address: str) -> MarketSession:
        return opened(hub, predictor, f"tab {tab}", key, address=address)

    for tab in range(MAX_FEEDS_OF_ADDRESS):
        open_feed(tab, f"live/venue/{tab}", "203.0.113.9")
    with pytest.raises(TooManyFeeds, match=rf"^{MAX_FEEDS_OF_ADDRESS} markets are being watched from your address"):
        open_feed(99, "live/venue/99", "203.0.113.9")
    open_feed(99, "recording/a", "203.0.113.9")  # which all share
    open_feed(0, "live/venue/99", "198.51.100.1")
    open_feed(99, "live/venue/99", "203.0.113.9")  # what runs may be watched
    for tab in range(MAX_FEEDS_OF_ADDRESS + 1, MAX_FEEDS - 1):
        open_feed(tab, f"live/venue/local {tab}", "")  # of who runs the server


def test_who_goes_from_feed_to_feed_is_not_refused(hub: Hub, predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those left behind run on for the grace period, unless there are too many of them."""
    monkeypatch.setattr(hub_module, "MAX_FEEDS_OF_VIEWER", 3)
    feeds = [ScriptedFeed([], key=f"feed/{i}") for i in range(10)]
    for feed in feeds:
        hub.watch("ann", feed.key, lambda feed=feed: MarketSession(feed, predictor))
        wait_until(feed.reached.is_set)
        hub.leave("ann", feed.key)
    assert list(hub.watched()) == ["feed/7", "feed/8", "feed/9"]
    wait_until(lambda: all(feed.closed == 1 for feed in feeds[:7]))


def test_joining_a_feed_keeps_it_running_but_starts_none(
    hub: Hub, predictor: Predictor, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "MAX_FEEDS", 1)
    feed = ScriptedFeed([])
    assert hub.join("bob", feed.key) is None
    session = hub.watch("ann", feed.key, lambda: MarketSession(feed, predictor))
    wait_until(feed.reached.is_set)
    for _ in range(3):
        clock.now += 0.9 * GRACE
        assert hub.join("bob", feed.key) is session
        look_around()
    assert feed.closed == 0
    assert hub.join("bob", "another") is None  # nor does a full hub refuse
    assert list(hub.watched()) == [feed.key]


def test_a_feed_that_nobody_watches_any_more_leaves_nothing_open_and_nothing_in_memory(
    predictor: Predictor, loop: BackgroundLoop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while a page still holds its session; the file is read anew where it is played again."""
    monkeypatch.setattr(hub_module, "GRACE_S", 0.05)
    path = tmp_path / "book.parquet"
    frame_from_rows(ROWS).to_parquet(path)
    hub, kept = Hub(loop), []

    def visit(number: int) -> tuple[RecordingFeed, MarketSession]:
        feed = RecordingFeed(path, market="ABC/USD", lead=30, key=f"recording/{number}")
        session = hub.watch(f"visitor {number}", feed.key, lambda: MarketSession(feed, predictor))
        wait_until(lambda: session.step >= 30)
        assert len(session.view().predictions)
        kept.append((weakref.ref(session), weakref.ref(feed)))
        return feed, session

    def is_open() -> bool:
        return any(Path(file.path) == path for file in psutil.Process().open_files())

    gc.collect()
    gc.disable()  # what lies in a cycle stays until a collection comes by
    try:
        for number in range(24):
            visit(number)
            if number % 8 == 7:
                wait_until(lambda: not hub.watched())
        wait_until(lambda: not any(session() or feed() for session, feed in kept))
        assert not is_open()
    finally:
        gc.enable()
    feed, held = visit(24)
    wait_until(lambda: not hub.watched() and not is_open())
    assert held.step >= 30 and feed.length == len(ROWS)
    monkeypatch.setattr(hub_module, "GRACE_S", FOREVER)
    again = Hub(loop).watch("ann", feed.key, lambda: MarketSession(feed, predictor))
    wait_until(lambda: again.step > 0)
