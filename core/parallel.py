"""The same work over many items: in this process one after another, or as tasks of a Ray cluster (an optional extra)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from core.messages import compose

Item = TypeVar("Item")
Result = TypeVar("Result")

RETRIES: Final = 3
"""Times that a task is begun again whose worker died."""
ROOT: Final = Path(__file__).resolve().parents[1]


def each(
    work: Callable[[Item], Result], items: Sequence[Item], *, ray: str | None = None
) -> Iterator[tuple[int, Result | ValueError | OSError]]:
    """The number of each item and what `work` makes of it, or the ValueError or OSError that it raised, as they come.

    Args:
        work: a function of a module, so that another process can import it.
        ray: None for this process; "local" for a cluster on this machine; else a cluster's address, whose machines see the same
            files at the same paths (or in a store) and have the program at the same place.

    Raises:
        ValueError: where Ray is asked for and not installed.
    """
    if ray is None:
        for number, item in enumerate(items):
            yield number, _attempt(work, item)
        return
    engine = _engine(ray)
    remote = engine.remote(num_cpus=1, max_retries=RETRIES)(_attempt)
    waiting = {remote.remote(work, item): number for number, item in enumerate(items)}
    try:
        while waiting:
            done, _ = engine.wait(list(waiting), num_returns=1)
            number = waiting.pop(done[0])
            try:
                yield number, engine.get(done[0])
            except engine.exceptions.RayError as error:  # the worker died again and again
                yield number, OSError(compose("its worker ended {times} times: {reason}", times=RETRIES + 1, reason=_line(error)))
    finally:
        for task in waiting:
            engine.cancel(task, force=True)


def _attempt(work: Callable[[Item], Result], item: Item) -> Result | ValueError | OSError:
    try:
        return work(item)
    except (ValueError, OSError) as error:
        return error


def _engine(address: str) -> Any:
    try:
        import ray  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise ValueError(compose("Ray is not installed: pip install -r requirements-ray.txt, or leave out --ray")) from error
    if not ray.is_initialized():
        environment = {"env_vars": {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}}
        ray.init(
            address=None if address == "local" else address,
            runtime_env=environment,
            include_dashboard=False,
            log_to_driver=False,
            configure_logging=False,
        )
    return ray


def _line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
