"""Permissions on a server: the one table of roles and actions, and a visitor's role.

Whatever changes the machine, or reads what is not a visitor's own, is carried out by a function of `core.service` that asks
`Visitor.require` first; no page calls what lies below. Whether a visitor stands at the machine itself is decided by `is_local`
from everything that is known of a connection, and doubt means that it does not (D35).
"""

import hmac
import ipaddress
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, ParamSpec, TypeVar
from urllib.parse import urlsplit

from core.messages import Message, Refusal, compose
from core.store import Holder

HOSTS_VARIABLE: Final = "OBSERVATORY_HOSTS"
"""Environment variable: host names the app is reached by, separated by commas, each with its port where a proxy asks the app by
another name (`desk.example:8443`); `*.example` for all below a name, "*" for any."""
FRAMES_VARIABLE: Final = "OBSERVATORY_FRAMES"
"""Environment variable: sites whose pages may show the app in a frame (`https://portal.example`), separated by commas."""
USERS_VARIABLE: Final = "OBSERVATORY_USERS"
"""Environment variable: e-mail addresses of those who count as signed in, separated by commas; empty: all who signed in."""
OPEN_VARIABLE: Final = "OBSERVATORY_OPEN"
"""Environment variable: "yes" lets every visitor count as signed in, where the server has no sign-in."""
PROXIES_VARIABLE: Final = "OBSERVATORY_PROXIES"
"""Environment variable: addresses and networks (`172.18.0.0/16`) of the proxies whose headers count, separated by commas; "*"
where nobody else reaches the app."""
TOKEN_VARIABLE: Final = "OBSERVATORY_TOKEN"
"""Environment variable: a request for metrics that shows this secret, sixteen characters or more, is the operator's
(`Authorization: Bearer ...`)."""
MIN_TOKEN: Final = 16


class Role(StrEnum):
    """Role of a visitor."""

    STRANGER = "a stranger"
    SIGNED_IN = "signed in"
    OPERATOR = "at the machine"


class Action(StrEnum):
    """Everything that the app offers to do, by a short name."""

    WATCH = "watch"
    BRING = "bring"
    RECORD = "record"
    CHANGE = "change"
    EXPORT = "export"
    CONVERT = "convert"
    READ_METRICS = "read metrics"


@dataclass(frozen=True, kw_only=True)
class Right:
    """Description of an action, as a clause for a person, and the roles that may do it."""

    what: Message
    roles: frozenset[Role]


_ALL: Final = frozenset(Role)
_KNOWN: Final = frozenset({Role.SIGNED_IN, Role.OPERATOR})
_MACHINE: Final = frozenset({Role.OPERATOR})

RIGHTS: Final[dict[Action, Right]] = {
    Action.WATCH: Right(what=compose("watching markets and recordings, reading what models answer, the lessons"), roles=_ALL),
    Action.BRING: Right(what=compose("bringing pictures, films, windows and having them read"), roles=_ALL),
    Action.RECORD: Right(what=compose("recording, and ending a recording"), roles=_KNOWN),
    Action.CHANGE: Right(what=compose("deleting recordings"), roles=_KNOWN),
    Action.EXPORT: Right(what=compose("exporting recordings of the library"), roles=_KNOWN),
    Action.CONVERT: Right(what=compose("inspecting and converting files of recordings"), roles=_KNOWN),
    Action.READ_METRICS: Right(what=compose("reading metrics, and the names of feeds in the state of health"), roles=_MACHINE),
}
"""The table."""


class NotAllowed(Refusal, PermissionError):
    """A visitor asked for what the table closes to them; the message is a sentence for a person."""


@dataclass(frozen=True, kw_only=True)
class Visitor:
    """One who asks.

    Attributes:
        id: of the browser tab. address: of the client, "" where unknown.
    """

    id: str
    role: Role
    address: str = ""

    @property
    def limited_by(self) -> str:
        """Address that limits are counted by; "" for who runs the server, and where it is unknown.

        Of IPv6 the network, since a house has 2^64 addresses.
        """
        if self.role is Role.OPERATOR or ":" not in self.address:
            return "" if self.role is Role.OPERATOR else self.address
        known = ipaddress.IPv6Address(self.address.partition("%")[0])
        return str(known.ipv4_mapped or ipaddress.IPv6Network((int(known) >> 64 << 64, 64)))

    @property
    def holder(self) -> Holder:
        """The tab and its address, by which what is kept for this visitor is counted."""
        return self.id, self.limited_by

    def may(self, action: Action) -> bool:
        """Tells whether the table opens an action to this visitor."""
        return self.role in RIGHTS[action].roles

    def require(self, action: Action) -> None:
        """Stop what the table closes.

        Raises:
            NotAllowed: where this visitor may not.
        """
        if not self.may(action):
            raise NotAllowed("Closed here: {actions}.", actions=RIGHTS[action].what)


P = ParamSpec("P")
R = TypeVar("R")


class Closed(Generic[P, R]):
    """A function that takes the visitor first, and then carries out `unguarded` for whom the table opens the action.

    Raises:
        NotAllowed: when called for anyone else, before anything is done.
    """

    def __init__(self, action: Action, unguarded: Callable[P, R]) -> None:
        self.action, self.unguarded = action, unguarded
        self.__doc__ = unguarded.__doc__

    def __call__(self, by: Visitor, /, *arguments: P.args, **options: P.kwargs) -> R:
        by.require(self.action)
        return self.unguarded(*arguments, **options)


def closed(action: Action) -> Callable[[Callable[P, R]], Closed[P, R]]:
    """Makes a function a `Closed` one."""
    return lambda unguarded: Closed(action, unguarded)


@dataclass(frozen=True, kw_only=True)
class RequestAddress:
    """Everything that is known of how a request came.

    Attributes:
        bind: what the server listens at; None and "" are everywhere.
        public_name: host name that the server was told it has, "" or a loopback one for none.
        peer: address of the other end; "" where unknown.
        headers: by lower-case name.
    """

    bind: str | None
    peer: str
    headers: Mapping[str, str]
    public_name: str = ""


PROXY_SEEN: Final = threading.Event()
"""Set once a proxy has passed a request on: then none counts as the machine's own any more."""
_PROXY_HEADERS: Final = frozenset(
    {"forwarded", "via", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "x-original-host", "cdn-loop"}
)
_PROXY_BEGINNINGS: Final = ("x-forwarded", "cf-", "x-envoy-", "x-amzn-", "x-azure-", "fly-", "fastly-", "x-vercel-", "tailscale-")


def forwarded(headers: Mapping[str, str]) -> bool:
    """Tells whether any header says that a proxy passed the request on; the process remembers that there is one."""
    passed_on = any(name in _PROXY_HEADERS or name.startswith(_PROXY_BEGINNINGS) for name in map(str.lower, headers))
    if passed_on:
        PROXY_SEEN.set()
    return passed_on


def client_address(connection: RequestAddress) -> str:
    """Returns the address that limits are counted by: the other end's or, of a named proxy, the one that it names (D49).

    A proxy appends the address it sees to `X-Forwarded-For`; what stands before that anyone may have written.
    """
    seen = connection.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
    try:
        return str(ipaddress.ip_address(seen)) if seen and is_proxy(connection.peer) else connection.peer
    except ValueError:
        return connection.peer


def is_proxy(peer: str) -> bool:
    """Tells whether the operator named the other end as a proxy (`OBSERVATORY_PROXIES`), whose headers count."""
    words = listed(PROXIES_VARIABLE)
    if "*" in words:
        return True
    try:
        address = ipaddress.ip_address(peer)
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address in ipaddress.ip_network(word, strict=False) for word in words)
    except ValueError:
        return False


def is_local(connection: RequestAddress) -> bool:
    """Tells whether a request can only have come from the machine itself (D35): every sign says so, and none is missing.

    The server listens at the loopback alone, no name was configured for it, the other end is at the loopback, the browser asked
    for a loopback name or address, and neither this request nor an earlier one was passed on by a proxy.
    """
    headers = connection.headers
    forwarded(headers)
    origin = urlsplit(headers.get("origin", "")).hostname if headers.get("origin") else "localhost"
    return (
        not PROXY_SEEN.is_set()
        and is_loopback(connection.bind)
        and not listed(HOSTS_VARIABLE)
        and (not connection.public_name or is_loopback(host_name(connection.public_name.partition("/")[0])))
        and is_loopback(connection.peer)
        and is_loopback(host_name(headers.get("host", "")))
        and is_loopback(origin)
    )


def visitor_of(
    connection: RequestAddress, *, tab: str = "", user: Mapping[str, object] | None = None, sign_in: bool = False
) -> Visitor:
    """The visitor behind a connection.

    Args:
        tab: id of the browser tab. sign_in: whether the server has a sign-in, which then alone decides.
        user: what the sign-in says of a visitor who has signed in (`email`, `email_verified`); None of any other.
    """
    if sign_in:
        role = Role.SIGNED_IN if user is not None and _on_the_list(user) else Role.STRANGER
    elif is_local(connection):
        role = Role.OPERATOR
    else:
        role = Role.SIGNED_IN if "yes" in listed(OPEN_VARIABLE) else Role.STRANGER
    return Visitor(id=tab, role=role, address=client_address(connection))


def _on_the_list(user: Mapping[str, object]) -> bool:
    """Tells whether a signed-in person counts as such: anyone, or those listed, by an address the provider has not doubted."""
    users = listed(USERS_VARIABLE)
    return not users or (str(user.get("email") or "").lower() in users and user.get("email_verified") is not False)


def requester_of(connection: RequestAddress) -> Visitor:
    """Visitor who asks for what is no page (metrics, health): the operator by the secret alone, or a stranger.

    A bare `proxy_pass` of the same machine names it as host and sends no header of its own, so an address shows nothing (D35).
    """
    forwarded(connection.headers)
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    shown = connection.headers.get("authorization", "")
    knows = len(token) >= MIN_TOKEN and hmac.compare_digest(shown.encode(), f"Bearer {token}".encode())
    return Visitor(id="", role=Role.OPERATOR if knows else Role.STRANGER, address=client_address(connection))


def listed(variable: str) -> frozenset[str]:
    """An environment variable's words, in lower case, separated by commas."""
    return frozenset(word.strip().lower() for word in os.environ.get(variable, "").split(",") if word.strip())


def is_loopback(address: str | None) -> bool:
    """Tells whether an address or name is the loopback's, which only the machine itself reaches. None and "" are not."""
    if not address:
        return False
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return address.lower() == "localhost" or address.lower().endswith(".localhost")


def host_name(host: str) -> str:
    """Name or address of a `Host` header, in lower case, without the port, a final dot or an IPv6 address's brackets."""
    host = host.strip().lower()
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return name.removesuffix(".")
