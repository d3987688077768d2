"""The clock of live feeds: the time of day, which never runs back."""

import threading
import time
from typing import Final

JUMP_NS: Final = 1_000_000_000
"""The wall clock is followed where it is more than this ahead of the steady one."""


class SteadyClock:
    """Counts the time of day on the monotonic clock, from where the wall clock stood at first.

    Where the machine slept, or its wall clock was set forward, the steady clock follows and counts a jump: whatever was carried
    across it is not known. Where the wall clock was set back, the steady clock goes on as if nothing had happened.

    Attributes:
        jumps: how often it has jumped forward.
    """

    def __init__(self) -> None:
        self.jumps = 0
        self._lock = threading.Lock()
        self._anchor_ns = time.time_ns() - time.monotonic_ns()

    def now_ns(self) -> int:
        """Nanoseconds since the epoch."""
        with self._lock:
            monotonic_ns, wall_ns = time.monotonic_ns(), time.time_ns()
            if wall_ns - (self._anchor_ns + monotonic_ns) > JUMP_NS:
                self._anchor_ns = wall_ns - monotonic_ns
                self.jumps += 1
            return self._anchor_ns + monotonic_ns

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return self.now_ns() // 1_000_000


CLOCK: Final = SteadyClock()
"""The process's one clock: every feed stamps its books with it, and every session samples by it."""
