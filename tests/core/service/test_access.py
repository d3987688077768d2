"""Whose request is the machine's own, and the table of roles and actions."""

from collections.abc import Iterator, Mapping

import pytest

from core.service import access
from core.service.access import (
    HOSTS_VARIABLE,
    OPEN_VARIABLE,
    PROXIES_VARIABLE,
    RIGHTS,
    TOKEN_VARIABLE,
    USERS_VARIABLE,
    Action,
    NotAllowed,
    RequestAddress,
    Role,
    Visitor,
    client_address,
    is_local,
    is_loopback,
    requester_of,
    visitor_of,
)
from tests.test_docs import ROOT

AT_HOME = {"host": "localhost:8501", "origin": "http://localhost:8501", "user-agent": "Mozilla/5.0"}


@pytest.fixture(autouse=True)
def no_proxy_yet() -> Iterator[None]:
    access.PROXY_SEEN.clear()
    yield
    access.PROXY_SEEN.clear()


def came(
    *, bind: str | None = "localhost", peer: str = "127.0.0.1", headers: Mapping[str, str] = AT_HOME, name: str = "localhost"
) -> RequestAddress:
    return RequestAddress(bind=bind, peer=peer, headers=headers, public_name=name)


LOOPBACK, REACHED_BY_OTHERS = ("localhost", "127.0.0.1", "::1"), ("0.0.0.0", "::", "unix:///run/app.sock", "", None, "10.0.0.7")


@pytest.mark.parametrize("address", [*LOOPBACK, *REACHED_BY_OTHERS])
def test_loopback_is_reached_by_its_own_machine_alone(address: str | None) -> None:
    alone = address in LOOPBACK
    assert is_loopback(address) is alone
    assert is_local(came(bind=address)) is alone


@pytest.mark.parametrize(
    "connection",
    [
        came(),
        came(bind="127.0.0.1", headers={"host": "127.0.0.1:8501"}),
        came(bind="::1", peer="::1", headers={"host": "[::1]:8501", "origin": "http://[::1]:8501"}),
    ],
)
def test_who_sits_at_the_machine_is_its_operator(connection: RequestAddress) -> None:
    assert visitor_of(connection).role is Role.OPERATOR


OF_PROXIES = (
    "X-Forwarded-For x-forwarded-proto x-forwarded-host Forwarded Via X-Real-IP CF-Connecting-IP True-Client-IP "
    "X-Envoy-External-Address Fly-Client-IP CDN-Loop Tailscale-User-Login"
)
"""Headers that proxies add."""


@pytest.mark.parametrize(
    "connection",
    [
        *(came(headers=AT_HOME | {name: "1"}) for name in OF_PROXIES.split()),
        came(peer="203.0.113.9"),
        came(peer=""),
        came(headers={}),
        came(headers=AT_HOME | {"host": "203.0.113.9:8501"}),
        came(headers=AT_HOME | {"host": "desk.example"}),
        came(headers=AT_HOME | {"origin": "https://desk.example"}),
        came(headers=AT_HOME | {"origin": "null"}),
        came(name="desk.example/app"),
        came(bind="0.0.0.0"),
    ],
)
def test_any_sign_of_a_proxy_and_any_doubt_make_a_stranger(connection: RequestAddress) -> None:
    assert visitor_of(connection).role is Role.STRANGER


def test_a_sign_in_with_and_without_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    def role(**user: object) -> Role:
        roles = {visitor_of(how, sign_in=True, user=user or None).role for how in (came(), passed_on)}
        return roles.pop() if len(roles) == 1 else Role.OPERATOR

    passed_on = came(headers={"x-forwarded-for": "10.0.0.7", "host": "desk.example"})

    assert role() is Role.STRANGER and role(email="ana@desk.example") is Role.SIGNED_IN
    monkeypatch.setenv(OPEN_VARIABLE, "yes")
    assert role() is Role.STRANGER  # where there is a sign-in, it alone decides
    monkeypatch.setenv(USERS_VARIABLE, "ana@desk.example")
    assert role(email="Ana@desk.example", email_verified=True) is Role.SIGNED_IN
    assert role(email="eve@desk.example") is Role.STRANGER and role(sub="ana@desk.example") is Role.STRANGER
    assert role(email="ana@desk.example", email_verified=False) is Role.STRANGER


@pytest.mark.parametrize(
    ("token", "shown", "role"),
    [
        ("a-secret-of-20-chars", "Bearer a-secret-of-20-chars", Role.OPERATOR),
        ("a-secret-of-20-chars", "Bearer a-secret-of-20-char", Role.STRANGER),
        ("a-secret-of-20-chars", "", Role.STRANGER),
        ("short", "Bearer short", Role.STRANGER),
        ("", "Bearer ", Role.STRANGER),
        ("a-secret-of-20-chars", "Bearer \xff", Role.STRANGER),
    ],
)
def test_the_secret_makes_a_request_the_operators(token: str, shown: str, role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, token)
    assert requester_of(came(bind="0.0.0.0", headers={"authorization": shown})).role is role


CLOSED_TO_STRANGERS = {Action.RECORD, Action.CHANGE, Action.EXPORT, Action.CONVERT, Action.READ_METRICS}


def test_a_stranger_may_watch_and_bring_alone() -> None:
    stranger = Visitor(id="a", role=Role.STRANGER)
    assert {action for action in Action if not stranger.may(action)} == CLOSED_TO_STRANGERS
    with pytest.raises(NotAllowed, match=r"^Closed here: recording, and ending a recording\.$"):
        stranger.require(Action.RECORD)


def table() -> str:
    lines = ["| action | " + " | ".join(Role) + " |", "| --- |" + " --- |" * len(Role)]
    for right in RIGHTS.values():
        cells = ["yes" if role in right.roles else "no" for role in Role]
        lines.append(f"| {right.what} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def test_every_action_has_a_row_and_the_documentation_holds_the_table() -> None:
    assert set(RIGHTS) == set(Action)
    assert table() in (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")


WAYS: dict[str, tuple[RequestAddress, str]] = {
    "from this machine; the server listens at the loopback": (came(), ""),
    "the same, with `OBSERVATORY_HOSTS` set": (came(), "observatory.example"),
    "from this machine; the server listens everywhere": (came(bind="0.0.0.0"), ""),
    "passed on by nginx with `X-Forwarded-For`": (came(headers={**AT_HOME, "x-forwarded-for": "127.0.0.1"}), ""),
    "from this machine, once nginx has passed one on": (came(), "proxy"),
    "from a network": (came(bind="0.0.0.0", peer="192.0.2.7", headers={"host": "192.0.2.1:8501"}), ""),
}
"""How a request comes, and the names that are configured."""
SIGN_INS: dict[str, tuple[bool, dict[str, object] | None, str]] = {
    "no sign-in": (False, None, ""),
    "no sign-in, `OBSERVATORY_OPEN=yes`": (False, None, "yes"),
    "sign-in: not signed in": (True, None, ""),
    "signed in": (True, {"email": "ann@x.example"}, ""),
    "signed in, not in `OBSERVATORY_USERS`": (True, {"email": "eve@x.example"}, ""),
}


def test_the_documentation_says_who_is_who_in_every_circumstance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(USERS_VARIABLE, "ann@x.example")
    lines = [f"| a request | {' | '.join(SIGN_INS)} |", "| --- |" + " --- |" * len(SIGN_INS)]
    for way, (address, names) in WAYS.items():
        cells = []
        for sign_in, user, everyone in SIGN_INS.values():
            access.PROXY_SEEN.clear()
            if names == "proxy":
                access.PROXY_SEEN.set()
            monkeypatch.setenv(HOSTS_VARIABLE, names if names != "proxy" else "")
            monkeypatch.setenv(OPEN_VARIABLE, everyone)
            cells.append(str(visitor_of(address, user=user, sign_in=sign_in).role))
        lines.append(f"| {way} | {' | '.join(cells)} |")
    matrix = "\n".join(lines)
    assert matrix in (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8"), f"docs/deploy.md lacks\n{matrix}"


@pytest.mark.parametrize(
    ("peer", "seen", "address"),
    [
        ("203.0.113.9", "", "203.0.113.9"),
        ("8.8.8.8", "198.51.100.1", "8.8.8.8"),  # anyone may write the header
        ("192.168.1.5", "198.51.100.1", "192.168.1.5"),  # of this network too
        ("127.0.0.1", "198.51.100.1", "127.0.0.1"),
        ("::ffff:172.18.0.5", "198.51.100.1", "198.51.100.1"),
        ("172.18.0.5", "10.9.9.9, 198.51.100.1", "198.51.100.1"),  # the proxy appends what it sees
        ("172.18.0.5", "unknown", "172.18.0.5"),
        ("172.18.0.5", "2001:db8::7", "2001:db8::7"),
        ("", "2001:db8::7", ""),
        ("", "", ""),
    ],
)
def test_limits_are_counted_by_the_address_that_a_named_proxy_sees(
    peer: str, seen: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PROXIES_VARIABLE, "172.18.0.0/16, 10.0.0.9")
    headers = {"x-forwarded-for": seen} if seen else {}
    one = RequestAddress(bind="0.0.0.0", peer=peer, headers=headers)
    assert client_address(one) == address
    monkeypatch.delenv(PROXIES_VARIABLE)
    assert client_address(one) == peer  # none is named by default
    monkeypatch.setenv(PROXIES_VARIABLE, "not an address")
    assert client_address(one) == peer
    monkeypatch.setenv(PROXIES_VARIABLE, "*")
    assert client_address(one) == (peer if seen in ("", "unknown") else seen.split(", ")[-1])
