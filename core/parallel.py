"""Many items by one function, in this process or by Ray Data on a cluster (an optional extra)."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from core.messages import BadValue, compose, first_line

Item = TypeVar("Item")
Result = TypeVar("Result")

RETRIES: Final = 3
"""Times that a task is begun again whose worker died."""
ROOT: Final = Path(__file__).resolve().parents[1]
IN_WORKERS: Final = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
"""Environment of a worker: it finds the program, and does not share its core with threads of its own."""
OF_THE_CLUSTER: Final = {
    "RAY_worker_niceness": "0",  # by default 15: beside other work on the machine, a worker would hardly get a turn
    "RAY_memory_monitor_refresh_ms": "0",  # else workers are ended where another program fills the machine's memory
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is reported to anyone
}
"""Ray's settings for a cluster of this machine; a cluster at an address has its own."""


def each(
    work: Callable[[Item], Result], items: Sequence[Item], *, ray: str | None = None
) -> Iterator[tuple[int, Result | ValueError | OSError]]:
    """The number of each item and what `work` makes of it, or the ValueError or OSError that it raised, as they come.

    Args:
        work: a function of a module, so that another process can import it.
        ray: None for this process; "local" for a cluster on this machine; else a cluster's address, whose machines see the same
            files at the same paths and have the program at the same place.

    Raises:
        ValueError: where Ray is asked for and not installed.
    """
    if ray is None:
        for number, item in enumerate(items):
            yield number, _attempt(work, item)
        return
    connected(ray)
    from ray.data import DataContext, from_items

    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.max_errored_blocks = -1  # a block is an item: one whose worker keeps dying costs itself alone
    rows = [{"number": number, "item": _Whole(item)} for number, item in enumerate(items)]

    def answered(row: dict[str, Any]) -> dict[str, Any]:
        return {"number": row["number"], "answer": _Whole(_attempt(work, row["item"].value))}

    blocks = from_items(rows, override_num_blocks=max(len(rows), 1))
    answers = iter(blocks.map(answered, num_cpus=1, ray_remote_args_fn=lambda: {"max_retries": RETRIES}).iter_rows())
    unanswered = set(range(len(rows)))
    while unanswered:
        with redirect_stdout(sys.stderr):  # where Ray says that a worker died: standard output is for results
            row = next(answers, None)
        if row is None:
            break
        unanswered.remove(row["number"])
        yield row["number"], row["answer"].value
    for number in sorted(unanswered):
        yield number, OSError(compose("its worker ended {times} times", times=RETRIES + 1))


@dataclass(frozen=True)
class _Whole:
    """A value that Ray Data leaves as it is: a bare list, number or array would become a column of its own type."""

    value: Any


def _attempt(work: Callable[[Item], Result], item: Item) -> Result | ValueError | OSError:
    try:
        return work(item)
    except (ValueError, OSError) as error:
        return error


def connected(address: str) -> Any:
    """The package `ray`, with a cluster: one of this machine ("local"), or that at the address. It ends with this process.

    Raises:
        ValueError: where Ray is not installed, or nothing answers at the address.
    """
    try:
        import ray
    except ImportError as error:
        raise ValueError(compose("Ray is not installed: pip install 'ray[data]', or leave out --ray")) from error
    if ray.is_initialized():
        return ray
    quiet: dict[str, Any] = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    if address == "local":
        # Inherited by every process of the cluster. As a runtime environment each worker would be built anew.
        with _environment(IN_WORKERS | OF_THE_CLUSTER):
            ray.init(address="local", **quiet)
        return ray
    del quiet["include_dashboard"]
    try:
        ray.init(address=address, runtime_env={"env_vars": IN_WORKERS}, **quiet)
    except (ConnectionError, ray.exceptions.RayError) as error:
        raise BadValue("no Ray cluster answers at {address}: {reason}", address=address, reason=first_line(error)) from error
    return ray


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
