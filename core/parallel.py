"""Work on a Ray cluster (an optional extra): many items as tasks, or one run that several workers share."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, Final, TypeVar

from core.messages import compose

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
            files at the same paths (or in a store) and have the program at the same place.

    Raises:
        ValueError: where Ray is asked for and not installed.
    """
    if ray is None:
        for number, item in enumerate(items):
            yield number, _attempt(work, item)
        return
    engine = connected(ray)
    remote = engine.remote(num_cpus=1, max_retries=RETRIES)(_attempt)
    waiting = {remote.remote(work, item): number for number, item in enumerate(items)}
    try:
        while waiting:
            with redirect_stdout(sys.stderr):  # where Ray says that a worker died: standard output is for results
                done, _ = engine.wait(list(waiting), num_returns=1)
            number = waiting.pop(done[0])
            try:
                yield number, engine.get(done[0])
            except engine.exceptions.RayError as error:  # the worker died again and again
                yield number, OSError(compose("its worker ended {times} times: {reason}", times=RETRIES + 1, reason=_line(error)))
    finally:
        for task in waiting:
            engine.cancel(task, force=True)


Tell = Callable[[Any], None]


def together(work: Callable[[Any, Tell], None], settings: Any, *, ray: str, workers: int, told: Tell) -> None:
    """Run `work` on several workers at once, which are one group of `torch.distributed` (gloo); returns when all have ended.

    Where a worker dies all begin again, with what `work` left on disk; a death while the workers start ends the run.

    Args:
        work: a function of a module: gets `settings` and a function by which the first worker's objects reach `told` here.
        told: called in another thread.

    Raises:
        ValueError: where Ray is asked for and not installed; what `work` raises of this kind. OSError: where a worker fails again
            and again.
    """
    connected(ray)
    from ray.train import ControllerError, FailureConfig, RunConfig, ScalingConfig, TrainingFailedError
    from ray.train.torch import TorchConfig, TorchTrainer
    from ray.util.queue import Empty, Queue

    queue = Queue(actor_options={"num_cpus": 0})
    ended = threading.Event()
    refused: list[ValueError] = []

    def listen() -> None:
        while True:
            last = ended.is_set()
            try:
                while True:
                    item = queue.get(timeout=0.5)
                    refused.append(item) if isinstance(item, ValueError) else told(item)
            except Empty:
                if last:
                    return

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    again = FailureConfig(max_failures=RETRIES)
    with tempfile.TemporaryDirectory(prefix="ray-train-") as folder:
        trainer = TorchTrainer(
            _member,
            train_loop_config={"work": work, "settings": settings, "queue": queue},
            scaling_config=ScalingConfig(num_workers=workers, resources_per_worker={"CPU": 1}),
            torch_config=TorchConfig(backend="gloo"),
            run_config=RunConfig(name="run", storage_path=folder, failure_config=again),
        )
        try:
            with redirect_stdout(sys.stderr):  # as in `each`
                trainer.fit()
        except TrainingFailedError as error:
            reason = "; ".join(_line(one) for one in _causes(error))
            if isinstance(error, ControllerError):  # not begun again: Ray still holds the cores of the group that it gave up
                raise OSError(compose("the training's workers could not be started: {reason}", reason=reason)) from error
            raise OSError(compose("the training's workers ended too often: {reason}", reason=reason)) from error
        finally:
            ended.set()
            listener.join()
            queue.shutdown()
    if refused:
        raise refused[0]


def _member(settings: dict[str, Any]) -> None:
    """One worker's part of `together`."""
    from ray.train import get_context

    tell: Tell = settings["queue"].put if get_context().get_world_rank() == 0 else _to_nobody
    try:
        settings["work"](settings["settings"], tell)
    except ValueError as error:  # of the data or the settings, hence the same in every worker: no reason to begin again
        tell(error)


def _to_nobody(item: Any) -> None:
    """What the other workers say is the same."""


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
        raise ValueError(compose("Ray is not installed: pip install -r requirements-ray.txt, or leave out --ray")) from error
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
        raise ValueError(
            compose("no Ray cluster answers at {address}: {reason}", address=address, reason=_line(error))
        ) from error
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


def _causes(error: Any) -> list[BaseException]:
    """What ended a shared training: each worker's failure, or that of what holds them together."""
    failures: dict[int, BaseException] = getattr(error, "worker_failures", {})
    return list(failures.values()) or [getattr(error, "controller_failure", error)]


def _line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
