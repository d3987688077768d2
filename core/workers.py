"""Runs functions on what strangers send (D42), in turns, in a few processes that can be killed, within bounds of time and memory.

    python -m core.workers MODULE...

is such a process: it imports the modules, then carries out an order at a time. Bytes, JSON and arrays' bytes pass between;
nothing is unpickled.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from core.messages import Message, Refusal, packed, unpacked

ROOT: Final = Path(__file__).resolve().parents[1]
TELL_S: Final = 0.25
"""Seconds after which who waits is told again, and may go."""
WALL: Final = 5
"""Seconds by the wall for each of the processor's: a busy machine is no reason to give up."""
MIN_WALL_S: Final = 10.0
MAX_WAITING: Final = 128
MAX_WAITING_EACH: Final = 64
"""Orders that wait at once, in all and of one address: a school is one."""
SETTINGS: Final = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "131072",  # what an order took goes back to the system, so that the next has all of its memory
    "MALLOC_TRIM_THRESHOLD_": "1048576",
}
"""Environment of a process."""

Report = Callable[[int], None]
"""Called with the place in the queue, from 1 on, and with 0 while the order is carried out; what it raises ends the order."""
Reason = Literal["refused", "time", "memory", "busy"]


def unreported(_place: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Bounds of an order: seconds of the processor; MiB of memory beside what the idle process has and the bytes it is given."""

    seconds: float
    mib: int = 300


class Stopped(Exception):
    """An order without an answer.

    Attributes:
        reason: "refused" by the function, whose sentence this is; else a bound that was reached, or "busy" where too many wait.
    """

    def __init__(self, reason: Reason, text: str = "") -> None:
        super().__init__(text)
        self.reason = reason


class Pool:
    """A few processes, begun as they are needed. May be used from any thread.

    Args:
        places: orders carried out at once. modules: that the processes import first. nice: by how much they give way to others.
    """

    def __init__(self, places: int, *modules: str, nice: int = 0) -> None:
        self._command = [sys.executable, "-m", __spec__.name if __spec__ else __name__, str(nice), *modules]
        self._turns, self._idle = WaitingLine(places), list[_Process]()

    def run(
        self,
        function: Callable[..., Any],
        data: bytes,
        options: Mapping[str, Any],
        budget: Budget,
        *,
        by: str = "",
        report: Report = unreported,
        progress: tuple[str, Callable[[Any], None]] | None = None,
    ) -> Any:
        """Returns what a function of a module makes of bytes and of options that JSON can hold; a dataclass comes as its fields.

        Args:
            by: address whose turn it is. progress: the function's parameter that is called meanwhile, and what is called here.

        Raises:
            Stopped: where there is no answer.
        """
        order = {"call": f"{function.__module__}:{function.__qualname__}", "options": dict(options), **vars(budget)}
        if progress is not None:
            order["progress"] = progress[0]
        with self._turns.hold_place(by, report):
            process = self._ready()
            try:
                answer = process.run_order(order, data, report, (lambda _value: None) if progress is None else progress[1])
            except Stopped as stopped:
                if stopped.reason == "refused":
                    self._idle.append(process)
                else:
                    process.end()
                raise
            except BaseException:  # who asked is gone, or the process
                process.end()
                raise
            self._idle.append(process)
            return answer

    def _ready(self) -> _Process:
        with contextlib.suppress(IndexError):
            while (process := self._idle.pop()).ended:
                process.end()
            return process
        return _Process(self._command)

    def rest(self) -> None:
        """End the processes that nobody needs now."""
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().end()


class WaitingLine:
    """Line of those who wait to compute: the address with the fewest at work first, then that served longest ago."""

    def __init__(self, places: int) -> None:
        self._free, self._changed = places, threading.Condition()
        self._waiting: list[tuple[int, str]] = []
        self._working, self._served, self._number = Counter[str](), dict[str, int](), 0

    @contextlib.contextmanager
    def hold_place(self, by: str, report: Report) -> Iterator[None]:
        """Hold a place, once it is this order's turn.

        Raises:
            Stopped: where too many wait already.
        """
        with self._changed:
            if len(self._waiting) >= MAX_WAITING or sum(one == by for _, one in self._waiting) >= MAX_WAITING_EACH:
                raise Stopped("busy")
            self._number += 1
            mine = self._number, by
            self._waiting.append(mine)
        try:
            while not self._take(mine):
                report(self.queue().index(mine) + 1)
        except BaseException:
            self._leave(mine)
            raise
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._working -= Counter([by])
                self._changed.notify_all()

    def _take(self, mine: tuple[int, str]) -> bool:
        """Take a place, within `TELL_S`."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._free and self.queue()[0] == mine, TELL_S):
                return False
            self._waiting.remove(mine)
            self._free -= 1
            self._working[mine[1]] += 1
            self._served.pop(mine[1], None)
            self._served[mine[1]] = mine[0]
            while len(self._served) > MAX_WAITING:
                del self._served[next(iter(self._served))]
            self._changed.notify_all()
            return True

    def _leave(self, mine: tuple[int, str]) -> None:
        with self._changed:
            self._waiting.remove(mine)
            self._changed.notify_all()

    def queue(self) -> list[tuple[int, str]]:
        """Orders that wait, the next one first."""
        with self._changed:
            before, keys = Counter(self._working), {}
            for number, by in self._waiting:
                keys[number] = before[by], self._served.get(by, 0), number
                before[by] += 1
            return sorted(self._waiting, key=lambda one: keys[one[0]])


class _Process:
    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ | SETTINGS
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._to = Connection(os.dup(self._process.stdin.fileno()), readable=False)
        self._from = Connection(os.dup(self._process.stdout.fileno()), writable=False)
        self._process.stdin.close()
        self._process.stdout.close()

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._to.close()
        self._from.close()

    def run_order(self, order: Mapping[str, Any], data: bytes, report: Report, progress: Callable[[Any], None]) -> Any:
        late = time.monotonic() + max(MIN_WALL_S, WALL * order["seconds"])
        with self._alive():
            self._to.send_bytes(json.dumps(order).encode())
            self._to.send_bytes(data)
        while True:
            while not self._from.poll(TELL_S):
                report(0)
                if time.monotonic() > late:
                    raise Stopped("time")
            with self._alive():
                message = json.loads(self._from.recv_bytes())
                arrays = [self._array(*one) for one in message.get("arrays", ())]
            if "done" in message:
                progress(message["done"])
            elif "stopped" in message:
                raise Stopped(message["stopped"], unpacked(message["text"]))
            else:
                return _received(message["result"], arrays)

    @contextlib.contextmanager
    def _alive(self) -> Iterator[None]:
        """Tells why a process that has ended did."""
        try:
            yield
        except (EOFError, OSError) as error:
            self._process.wait()
            raise Stopped("time" if self._process.returncode == -signal.SIGPROF else "memory") from error

    def _array(self, kind: str, shape: Sequence[int]) -> Any:
        array = np.empty(shape, kind)
        if array.nbytes:
            self._from.recv_bytes_into(array.data.cast("B"))
        return array


# -- values as JSON, and arrays ---------------------------------------------------------------------------------------------


def _sent(value: Any, arrays: list[Any]) -> Any:
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, Message):
        return {"message": packed(value)}
    if is_dataclass(value):
        value = {one.name: getattr(value, one.name) for one in fields(value)}
    if isinstance(value, Mapping):
        return {"entries": [[key, _sent(one, arrays)] for key, one in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [_sent(one, arrays) for one in value]}
    if isinstance(value, np.generic):
        return value.item()
    return value


def _received(value: Any, arrays: Sequence[Any]) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, one),) = value.items()
    if kind == "array":
        return arrays[one]
    if kind == "message":
        return unpacked(one)
    if kind == "tuple":
        return tuple(_received(each, arrays) for each in one)
    return {key: _received(each, arrays) for key, each in one}


# -- the process ------------------------------------------------------------------------------------------------------------


def main(nice: str, *modules: str) -> None:
    """Carry out orders until there are no more."""
    orders, answers = Connection(os.dup(0), writable=False), Connection(os.dup(1), readable=False)
    os.dup2(2, 1)  # what a library prints is no answer
    os.nice(int(nice))
    for module in modules:
        import_module(module)
    idle = _memory()
    with contextlib.suppress(EOFError, OSError):
        while True:
            order = json.loads(orders.recv_bytes())
            data = orders.recv_bytes()
            most = None if idle is None else idle + len(data) + (order["mib"] << 20)
            answer, arrays = _carried_out(order, data, answers, most)
            answers.send_bytes(json.dumps(answer).encode())
            for array in arrays:
                if array.nbytes:
                    answers.send_bytes(np.ascontiguousarray(array).data.cast("B"))


def _carried_out(
    order: Mapping[str, Any], data: bytes, answers: Connection, most: int | None
) -> tuple[dict[str, Any], list[Any]]:
    name, _, function = order["call"].partition(":")
    call = getattr(import_module(name), function)
    options = dict(order["options"])
    if "progress" in order:
        options[order["progress"]] = _Progress(answers)
    try:
        with _bounded(order["seconds"], most):
            result = call(data, **options)
    except MemoryError:
        return {"stopped": "memory", "text": ""}, []
    except (Refusal, ValueError, OSError) as error:
        return {"stopped": "refused", "text": packed(error.args[0] if len(error.args) == 1 else str(error))}, []
    arrays: list[Any] = []
    sent = _sent(result, arrays)
    return {"result": sent, "arrays": [[one.dtype.str, one.shape] for one in arrays]}, arrays


class _Progress:
    """Sends a number on, ten times a second at most."""

    def __init__(self, answers: Connection) -> None:
        self._answers, self._due = answers, 0.0

    def __call__(self, done: float) -> None:
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + 0.1
            self._answers.send_bytes(json.dumps({"done": done}).encode())


def _memory() -> int | None:
    """Bytes of addresses that this process holds; None where the system does not say it."""
    if sys.platform != "linux":
        return None
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def _bounded(seconds: float, most: int | None) -> Iterator[None]:
    """Bound this process: time of the processor that is out kills it, memory beyond `most` bytes is refused to it."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    if most is not None:
        resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, before)


if __name__ == "__main__":
    main(*sys.argv[1:])
