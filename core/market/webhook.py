"""Sending an alert to a web address: JSON, signed, tried again with growing pauses."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future

import aiohttp

from core.market.alerts import AlertEvent
from core.market.feeds.background import BackgroundLoop

TRIES = 5
FIRST_PAUSE_S = 1.0
TIMEOUT_S = 10.0
SIGNATURE_HEADER = "X-Observatory-Signature"
TIME_HEADER = "X-Observatory-Time"

log = logging.getLogger(__name__)


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
    async with aiohttp.ClientSession(timeout=timeout) as session:
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
