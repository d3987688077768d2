"""Whom a server lets do what: which host names it answers to, and which actions are closed to strangers."""

from __future__ import annotations

import ipaddress
import os
import socket
from enum import StrEnum
from typing import Final

HOSTS_VARIABLE: Final = "OBSERVATORY_HOSTS"
"""Environment variable: host names the app is reached by, separated by commas; "*" for any."""
USERS_VARIABLE: Final = "OBSERVATORY_USERS"
"""Environment variable: e-mail addresses of those who may do what `Action` lists, separated by commas; empty: all signed in."""
OPEN_VARIABLE: Final = "OBSERVATORY_OPEN"
"""Environment variable: "yes" lets everyone do what `Action` lists where a network reaches the server and it has no sign-in."""


class Action(StrEnum):
    """What changes the machine that serves, and so is not for strangers."""

    RECORD = "record"
    DELETE = "delete"
    TRAIN = "train"
    ADD_FORECASTER = "add a forecaster"
    SERVER_FOLDER = "read a folder of the server"


def listed(variable: str) -> frozenset[str]:
    """An environment variable's words, in lower case, separated by commas."""
    return frozenset(word.strip().lower() for word in os.environ.get(variable, "").split(",") if word.strip())


def is_loopback(address: str | None) -> bool:
    """Whether a server that listens there is reached by its own machine alone; None and "" listen everywhere."""
    if not address:
        return False
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return address.lower() == "localhost"


def host_allowed(host: str) -> bool:
    """Whether a request's `Host` header names this server.

    A page of a stranger's that points its own name at this machine (DNS rebinding) sends that name, and is refused. Addresses
    in numbers cannot be rebound; localhost, the machine's own name and the names of `OBSERVATORY_HOSTS` are its own.
    """
    name = _host_name(host)
    allowed = listed(HOSTS_VARIABLE)
    if "*" in allowed or name in allowed or name in ("localhost", socket.gethostname().lower()) or name.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _host_name(host: str) -> str:
    """Without the port, lower case, a final dot or an IPv6 address's brackets."""
    host = host.strip().lower()
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return name.removesuffix(".")


def is_open(*, address: str | None, sign_in: bool, email: str | None) -> bool:
    """Whether the actions of `Action` are open to a visitor.

    Args:
        address: that the server listens at.
        sign_in: whether the server has a sign-in. email: of the visitor who has signed in; None without.
    """
    if sign_in:
        users = listed(USERS_VARIABLE)
        return email is not None and (not users or email.lower() in users)
    return is_loopback(address) or "yes" in listed(OPEN_VARIABLE)
