"""Lease in Redis by which one of several processes leads a market: a fencing token, and a stream that only its holder writes.

The lease is a key that expires (SET NX PX) and holds the token, a number that rises with each holder. A holder that was paused
longer than its lease finds another's token there, and what it still tries to write is refused where it is written, by the same
script that writes (fencing; Kleppmann, "How to do distributed locking", 2016). Each entry has a number, one more than the one
before, by which a reader notices that it missed some.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from redis import Redis
    from redis.asyncio import Redis as AsyncRedis

LEASE_MS: Final = 2_000
"""Milliseconds until the lease of a leader that died expires."""
RENEWALS: Final = 4
"""In that time."""
KEPT_ENTRIES: Final = 6_000
"""Entries a stream keeps, about twenty minutes: what a reader that comes late, or was away, can still read."""
IDLE_MS: Final = 3_600_000
"""After so long without an entry Redis drops a stream."""

ACQUIRE: Final = """
if redis.call('EXISTS', KEYS[1]) == 1 then return false end
local token = redis.call('INCR', KEYS[2]) .. ':' .. ARGV[1]
redis.call('SET', KEYS[1], token, 'NX', 'PX', ARGV[2])
return token
"""
RENEW: Final = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
"""
RELEASE: Final = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""
APPEND: Final = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local number = redis.call('INCR', KEYS[2])
local id = redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[3], '*', 'n', number, unpack(ARGV, 5))
redis.call('PEXPIRE', KEYS[3], ARGV[4])
return {id, number}
"""


@dataclass(frozen=True)
class MarketKeys:
    """Redis' names of one market's keys; the braces keep them on one node of a cluster."""

    name: str

    def _key(self, what: str) -> str:
        return f"observatory:{{{self.name}}}:{what}"

    @property
    def lease(self) -> str:
        """Holds the leader's token."""
        return self._key("lease")

    @property
    def tokens(self) -> str:
        """Counts leaders."""
        return self._key("tokens")

    @property
    def numbers(self) -> str:
        """Counts entries."""
        return self._key("numbers")

    @property
    def stream(self) -> str:
        """The entries."""
        return self._key("stream")


class Lease:
    """The lease of one market. Raises redis' own errors where Redis cannot be reached."""

    def __init__(self, client: AsyncRedis, keys: MarketKeys, *, lease_ms: int = LEASE_MS) -> None:
        self._keys, self._lease_ms = keys, lease_ms
        self._acquire, self._renew, self._release = (client.register_script(text) for text in (ACQUIRE, RENEW, RELEASE))

    async def acquire(self) -> str | None:
        """A token of one's own, higher than all before; None while another holds the lease."""
        token = await self._acquire(keys=[self._keys.lease, self._keys.tokens], args=[secrets.token_hex(8), self._lease_ms])
        return None if token is None else token.decode()

    async def renew(self, token: str) -> bool:
        """Hold the lease for longer; False where it is no longer one's own."""
        return bool(await self._renew(keys=[self._keys.lease], args=[token, self._lease_ms]))

    async def release(self, token: str) -> None:
        """Leave the lease to others at once."""
        await self._release(keys=[self._keys.lease], args=[token])


class FencedStream:
    """Appends to one market's stream for as long as a token holds. May be called from any thread."""

    def __init__(self, client: Redis, keys: MarketKeys, *, lease_ms: int = LEASE_MS, kept: int = KEPT_ENTRIES) -> None:
        self._keys, self._args = keys, [lease_ms, kept, IDLE_MS]
        self._append = client.register_script(APPEND)

    def append(self, token: str, fields: Mapping[str, bytes]) -> tuple[str, int] | None:
        """The new entry's id and number; None where the token is no longer the leader's: nothing was written then.

        Raises:
            redis.RedisError: where Redis cannot be reached; whether it was written is then unknown.
        """
        pairs: list[Any] = [part for pair in fields.items() for part in pair]
        keys = [self._keys.lease, self._keys.numbers, self._keys.stream]
        written = self._append(keys=keys, args=[token, *self._args, *pairs])
        return None if written is None else (written[0].decode(), int(written[1]))
