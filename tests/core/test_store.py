"""The bounded store, beside a plain list that does the same by hand."""

import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.store import BoundedStore, Holder, Limit

ME, MY_OTHER_TAB, YOU, SHE = ("me", "10.0.0.7"), ("again", "10.0.0.7"), ("you", "10.0.0.8"), ("she", "10.0.0.9")


def store_of(
    most: int = 3, max_bytes: int = 100, *, address: int | None = None, visitor: int | None = None
) -> BoundedStore[bytes]:
    limit = Limit(total=most, address=address, visitor=visitor)
    return BoundedStore(key=lambda data: hashlib.sha256(data).hexdigest(), size=len, limit=limit, max_bytes=max_bytes)


def fill(store: BoundedStore[bytes], by: Holder, *values: bytes) -> None:
    for value in values:
        store.keep(value, by)


def test_a_visitor_and_an_address_with_too_many_lose_their_own() -> None:
    store = store_of(most=9, address=3, visitor=2)
    store.keep(b"yours", YOU)
    fill(store, ME, b"1", b"2", b"3")
    assert store.values(ME) == [b"3", b"2"]
    fill(store, MY_OTHER_TAB, b"4", b"5")
    assert store.values() == [b"5", b"4", b"3", b"yours"] and store.values(YOU) == [b"yours"]


def test_where_all_is_full_whoever_keeps_most_loses_one() -> None:
    store = store_of(most=5)
    store.keep(b"yours", YOU)
    fill(store, ME, b"1", b"2", b"3", b"4", b"5", b"6")
    store.keep(b"hers", SHE)
    assert store.values() == [b"hers", b"6", b"5", b"4", b"yours"]


def test_where_bytes_are_full_whoever_keeps_most_of_them_loses_one() -> None:
    store = store_of(most=9, max_bytes=10)
    fill(store, YOU, b"1", b"2", b"3")
    store.keep(b"large", ME)
    store.keep(b"hers", SHE)
    assert store.values() == [b"hers", b"3", b"2", b"1"]
    store.keep(b"larger than all", ME)
    assert store.values() == [b"larger than all"]


def test_what_two_brought_stays_until_both_have_lost_it() -> None:
    store = store_of(most=9, visitor=1)
    store.keep(b"ours", YOU)
    key = store.keep(b"ours", ME)
    store.keep(b"mine", ME)
    assert store.find(key) == b"ours" and store.values(ME) == [b"mine"]
    store.keep(b"yours", YOU)
    assert store.find(key) is None


@given(st.lists(st.tuples(st.sampled_from([ME, MY_OTHER_TAB, YOU, SHE]), st.integers(0, 12)), max_size=40))
def test_all_limits_hold_after_any_order_of_use(uses: list[tuple[Holder, int]]) -> None:
    store = store_of(most=6, max_bytes=30, address=5, visitor=3)
    for by, length in uses:
        value = f"{by[0]:5}{'x' * length}".encode()
        store.keep(value, by)
        kept = store.values()
        assert kept[0] == value and len(kept) <= 6 and (sum(map(len, kept)) <= 30 or len(kept) == 1)
        assert all(len(store.values(one)) <= 3 for one in (ME, MY_OTHER_TAB, YOU, SHE))
        assert len({*store.values(ME), *store.values(MY_OTHER_TAB)}) <= 5


@pytest.mark.parametrize(("most", "max_bytes"), [(0, 1), (1, 0)])
def test_a_store_that_could_keep_nothing_is_refused(most: int, max_bytes: int) -> None:
    with pytest.raises(ValueError, match="must be 1 or more"):
        store_of(most, max_bytes)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=60), st.integers(1, 6), st.integers(1, 40))
def test_any_order_of_use_gives_what_a_list_gives(uses: list[tuple[bool, int]], most: int, max_bytes: int) -> None:
    store, by_hand = store_of(most, max_bytes), list[bytes]()
    for keeps, length in uses:
        value = b"x" * length
        if keeps:
            store.keep(value)
            by_hand = [value, *(one for one in by_hand if one != value)]
            while len(by_hand) > 1 and (len(by_hand) > most or sum(map(len, by_hand)) > max_bytes):
                by_hand.pop()
        else:
            found = store.find(hashlib.sha256(value).hexdigest())
            assert (found is not None) == (value in by_hand)
            if found is not None:
                by_hand = [value, *(one for one in by_hand if one != value)]
        assert store.values() == by_hand


def test_many_threads_leave_it_within_its_bounds() -> None:
    store = store_of(most=5, max_bytes=10_000)

    def use(start: int) -> None:
        for i in range(200):
            store.find(store.keep(f"{start} {i}".encode()))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(8)))
    assert len(store.values()) == 5
