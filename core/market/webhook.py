"""Sending an alert to a web address: JSON, signed, tried again with growing pauses; never to an address that is not public.

Names are resolved anew for each try, and the very address that is connected to is looked at, so that a name that changes its
address (DNS rebinding) gains nothing. Redirects are not followed.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import json
import logging
import os
import socket
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from core.market.alerts import AlertError, AlertEvent
from core.market.feeds.background import BackgroundLoop

TRIES = 5
FIRST_PAUSE_S = 1.0
TIMEOUT_S = 10.0
SIGNATURE_HEADER = "X-Observatory-Signature"
TIME_HEADER = "X-Observatory-Time"

NETWORKS_VARIABLE: Final = "OBSERVATORY_WEBHOOK_NETWORKS"
"""Environment variable: networks that are not public and may get webhooks all the same, such as 10.1.0.0/16, by commas."""
LOOKUP_S: Final = 5.0
NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
NEVER: Final = tuple(map(ipaddress.ip_network, ("168.63.129.16/32", "192.0.0.0/24", "3fff::/20")))
"""Public by their numbers, but not the internet's: two clouds' metadata, and an IPv6 network for documents."""
UNICAST: Final = ipaddress.ip_network("2000::/3")
"""All of IPv6 that is given out to the public. Outside lie IPv4 addresses in old spellings (::127.0.0.1) and sites' own."""

log = logging.getLogger(__name__)


def is_public(address: str) -> bool:
    """Tells whether an IP address is of the public internet, whatever form an IPv4 one has, or the environment's."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in NAT64 else None)
        if inner is not None:
            ip = inner
    if any(ip in network for network in _allowed()):
        return True
    if ip.version == 6 and ip not in UNICAST:
        return False
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in NEVER)


def _allowed() -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    networks = []
    for text in os.environ.get(NETWORKS_VARIABLE, "").split(","):
        try:
            networks.append(ipaddress.ip_network(text.strip()))
        except ValueError:
            if text.strip():
                log.warning("%s is no network: one such as 10.1.0.0/16 is right", text.strip())
    return networks


def public_socket(address: tuple[Any, ...]) -> socket.socket:
    """A socket for one of `getaddrinfo`'s answers.

    Raises:
        OSError: where the address is not public.
    """
    family, kind, protocol, _name, where = address
    if not is_public(str(where[0])):
        raise OSError("not a public address")
    return socket.socket(family, kind, protocol)


async def check_receiver(webhook: str) -> None:
    """See that an address can be sent to, as far as its name says now.

    Raises:
        AlertError: where its host is not to be found, or not public.
    """
    parts = urlsplit(webhook)
    try:
        async with asyncio.timeout(LOOKUP_S):
            answers = await asyncio.get_running_loop().getaddrinfo(parts.hostname, parts.port or 443, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError, UnicodeError) as error:
        raise AlertError("the host {host} of the webhook is not to be found", host=parts.hostname) from error
    if not all(is_public(str(where[0])) for *_, where in answers):
        raise AlertError("the webhook's host {host} is not on the public internet", host=parts.hostname)


def body_of(event: AlertEvent) -> bytes:
    """The JSON that is sent: `id`, `market`, `kind`, `at` (Unix seconds) and `text` (English)."""
    rule = event.rule
    values = {"id": rule.id, "market": rule.market, "kind": rule.kind, "at": event.at, "text": str(event.text)}
    return json.dumps(values, ensure_ascii=False, sort_keys=True).encode()


def signature(secret: str, sent_at: str, body: bytes) -> str:
    """`sha256=` and the HMAC-SHA256 of the time header, a full stop and the body, hexadecimal.

    The receiver computes the same with the shared secret, and refuses a time that is long past.
    """
    return "sha256=" + hmac.new(secret.encode(), sent_at.encode() + b"." + body, hashlib.sha256).hexdigest()


async def send(
    event: AlertEvent,
    *,
    secret: str,
    tries: int = TRIES,
    first_pause_s: float = FIRST_PAUSE_S,
    clock: Callable[[], float] = time.time,
) -> bool:
    """Post the event to its rule's webhook; whether the receiver took it (a status of 200 to 299).

    A refusal that trying again cannot change (400 to 499, other than 408 and 429) ends it; anything else is tried again after
    a pause that doubles each time.
    """
    body = body_of(event)
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    connector = aiohttp.TCPConnector(socket_factory=public_socket, use_dns_cache=False)
    async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
        for attempt in range(tries):
            sent_at = str(int(clock()))
            headers = {
                "Content-Type": "application/json",
                TIME_HEADER: sent_at,
                SIGNATURE_HEADER: signature(secret, sent_at, body),
            }
            try:
                async with session.post(event.rule.webhook, data=body, headers=headers, allow_redirects=False) as answer:
                    if 200 <= answer.status < 300:
                        return True
                    if 400 <= answer.status < 500 and answer.status not in (408, 429):
                        log.warning("a webhook refused an alert: HTTP %d", answer.status)
                        return False
            except (aiohttp.ClientError, TimeoutError) as error:
                log.info("a webhook could not be reached: %s", type(error).__name__)
            if attempt + 1 < tries:
                await asyncio.sleep(first_pause_s * 2**attempt)
    log.warning("a webhook did not take an alert in %d tries", tries)
    return False


class WebhookSender:
    """Sends events in a background loop. Call it with an event.

    Args:
        secret: signs what is sent.
    """

    def __init__(self, loop: BackgroundLoop, secret: str) -> None:
        self._loop, self._secret = loop, secret

    def __call__(self, event: AlertEvent) -> Future[bool]:
        return self._loop.submit(send(event, secret=self._secret))
