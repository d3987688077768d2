"""What may be held at once, by all and by address."""

import pytest

from core import workers
from core.market import hub, windows
from core.service import limits
from core.service.access import Role, Visitor
from core.service.limits import MIB, Limit, Places, UploadCaps
from core.signs import own_clips
from core.vision import pictures
from tests.core.test_store import ME, MY_OTHER_TAB, SHE, YOU
from tests.test_docs import ROOT


def test_places_are_counted_by_all_and_by_address() -> None:
    places = Places(Limit(total=3, address=2))
    assert [places.acquire("a") for _ in range(3)] == [None, None, "address"]
    assert places.acquire("b") is None and places.acquire("c") == "all"
    places.give_back("a")
    assert places.acquire("") is None and places.acquire("") == "all" and places.held == 3
    for one in ("a", "b", ""):
        places.give_back(one)
    assert places.held == 0


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2::7", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::8%eth0", "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("", ""),
    ],
)
def test_a_house_of_ipv6_is_one_address(address: str, counted: str) -> None:
    assert Visitor(id="tab", role=Role.STRANGER, address=address).limited_by == counted
    assert Visitor(id="tab", role=Role.OPERATOR, address=address).limited_by == ""


def table() -> str:
    feeds = Limit(total=hub.MAX_FEEDS, address=hub.MAX_FEEDS_OF_ADDRESS, visitor=hub.MAX_FEEDS_OF_VIEWER)
    waiting = Limit(total=workers.MAX_WAITING, address=workers.MAX_WAITING_EACH)
    rows = {
        "live markets, and as many playbacks of one's own (an address's and a visitor's are counted together)": (feeds, 1),
        "sockets": (limits.SOCKETS, 1),
        "cameras read": (limits.CAMERAS, 1),
        "pictures and frames, or films, that wait to be decoded": (waiting, 1),
        "pictures kept for their links": (pictures.STORE.limit, 1),
        "clips kept for their links": (own_clips.STORE.limit, 1),
        "order-book windows kept for their links": (windows.STORE.limit, 1),
        "uploads under way": (limits.UPLOADS, 1),
        "uploads kept and under way, MiB": (limits.UPLOADED, limits.MIB),
    }
    lines = ["| what is held | everybody | an address | a visitor |", "| --- | --- | --- | --- |"]
    for what, (limit, unit) in rows.items():
        cells = ["-" if most is None else f"{most // unit:,}" for most in (limit.total, limit.address, limit.visitor)]
        lines.append(f"| {what} | {' | '.join(cells)} |")
    return "\n".join(lines)


def test_the_documentation_holds_the_table_as_the_code_has_it() -> None:
    assert table() in (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8"), f"docs/deploy.md lacks\n{table()}"


def test_a_visitor_an_address_and_all_together_have_a_limit() -> None:
    caps = UploadCaps(bytes_of=Limit(total=6 * MIB, address=4 * MIB, visitor=3 * MIB))
    held = {ME: 2 * MIB, YOU: MIB}
    assert caps.begin(ME, MIB, held) is None
    refusal = caps.begin(ME, 1, held)  # the one before is still under way
    assert refusal == "Your uploads would take 4 MiB, and one visitor may keep 3: remove some, or close other tabs."
    refusal = caps.begin(MY_OTHER_TAB, MIB + 1, held)
    assert refusal == "Your address' uploads would take 5 MiB, and it may keep 4: remove some, or close other tabs."
    assert caps.begin(MY_OTHER_TAB, MIB, held) is None
    assert caps.begin(YOU, MIB, held) is None
    assert caps.begin(SHE, 1, held) == "All visitors' uploads together take the 6 MiB that this server keeps: try again later."
    caps.end(ME, MIB)
    assert caps.begin(SHE, MIB, held) is None


def test_what_failed_leaves_no_trace_and_few_are_under_way_at_once() -> None:
    caps = UploadCaps(bytes_of=Limit(total=MIB), under_way=Limit(total=2, address=1))
    for _ in range(3):
        assert caps.begin(ME, MIB, {}) is None
        caps.end(ME, MIB)
    assert caps.begin(ME, 1, {}) is None
    assert caps.begin(MY_OTHER_TAB, 1, {}) == "Too many uploads are under way: try again once some of them are over."
    assert caps.begin(YOU, 1, {}) is None
    assert caps.begin(SHE, 1, {}) is not None
