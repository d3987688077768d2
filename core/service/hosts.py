"""Names that the server goes by, and web pages whose requests it takes: what the front door asks of `Host` and `Origin`.

No answer needs a network. Streamlit's own check of a foreign `Origin` asks the internet for the machine's address and waits, in
the loop that serves everybody; so nothing reaches it that is not decided here.
"""

import ipaddress
import socket
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

from core.service.access import HOSTS_VARIABLE, RequestAddress, host_name, is_proxy, listed

PORTS: Final = {"http": 80, "https": 443}
"""Ports that an address leaves out."""


@dataclass(frozen=True)
class Site:
    """A web page's scheme, host name and port; two pages with equal ones are one site's."""

    scheme: str
    name: str
    port: int | None


def host_allowed(host: str, *bound: str | None) -> bool:
    """Tells whether a request's `Host` header names this server.

    A page of a stranger's that points its own name at this machine (DNS rebinding) sends that name, and is refused. Addresses
    in numbers cannot be rebound; localhost, the machine's own name, the names it was bound to and those of `OBSERVATORY_HOSTS`
    are its own.

    Args:
        bound: what the server listens at, and the name that Streamlit was told (`browser.serverAddress`).
    """
    name = host_name(host)
    own = {"localhost", socket.gethostname().lower(), *(host_name(one.partition("/")[0]) for one in bound if one)}
    if name and (name in own or name.endswith(".localhost") or any(_names(word, name) for word in listed(HOSTS_VARIABLE))):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def origin_allowed(connection: RequestAddress, scheme: str) -> bool:
    """Tells whether a request comes from a page of this server, or from no page at all (no `Origin`).

    Scheme, name and port count: a page at another port of this machine is another program's. A page is this server's where its
    address is the one that was asked (`Host`), or one that `OBSERVATORY_HOSTS` names, for a proxy that asks by another name.

    Args:
        scheme: `http` or `https`, as the connection itself has it; a proxy that the operator named may say otherwise.
    """
    given = connection.headers.get("origin")
    if not given:
        return True
    origin = _origin(given)
    if origin is None:
        return False
    host = connection.headers.get("host", "")
    passed_on = connection.headers.get("x-forwarded-proto", "").rpartition(",")[2].strip().lower()
    spoken = passed_on if passed_on in PORTS and is_proxy(connection.peer) else scheme
    if origin == _origin(f"{spoken}://{host}"):
        return True
    words = listed(HOSTS_VARIABLE)
    # TLS may end at a proxy that says nothing of it: of a name that is ours, the same port by https is ours too
    if origin == _origin(f"https://{host}") and any(_names(word, origin.name) for word in words):
        return True
    # a word names an origin with its scheme, or both
    named = (one for word in words for one in ([word] if "://" in word else [f"{scheme}://{word}" for scheme in PORTS]))
    return any(origin == _origin(one) for one in named)


def _names(word: str, name: str) -> bool:
    """Tells whether a word of `OBSERVATORY_HOSTS` is this host name: `*`, `*.example` with names below it, a name, an origin."""
    word = host_name(word.rpartition("://")[2])
    return word in ("*", name) or (word.startswith("*.") and name.endswith(word[1:]))


def _origin(text: str) -> Site | None:
    """The page's address; None for what is none (`null`, a file, a path behind the port)."""
    try:
        parts: SplitResult = urlsplit(text.strip())
        scheme, port = parts.scheme.lower(), parts.port
    except ValueError:
        return None
    if scheme not in PORTS or not parts.hostname or parts.username is not None or parts.path or parts.query or parts.fragment:
        return None
    return Site(scheme, parts.hostname.lower().removesuffix("."), PORTS[scheme] if port is None else port)
