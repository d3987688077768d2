"""Chooses the device to compute on: CUDA where there is one, else the CPU."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import wraps
from typing import Any, Final, Generic, Literal, ParamSpec, Protocol, TypeVar, cast

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

Network = TypeVar("Network", bound=nn.Module)
Answer = TypeVar("Answer")
Given = ParamSpec("Given")
Failure = Literal["", "full", "lost"]
"""State of a device that a model left: none was left, its memory was full, or it no longer answers."""
CACHED: Final = 8 * 3 * 128 * 128
"""Numbers of all inputs that a processor computes at once: of 64 photographs, 8 at a time take .55 as long as all together."""
_log: Final = logging.getLogger(__name__)

# Convolutions in float32, as on the processor: rounded to TF32, PyTorch's default, the CCT's weights differ by up to .04.
torch.backends.cudnn.allow_tf32 = False


@contextmanager
def without_memory() -> Iterator[None]:
    """Builds networks of shapes alone, on the "meta" device."""
    with torch.device("meta"), _Unfilled():
        yield


class _Unfilled(TorchFunctionMode):
    """Leaves new tensors as they come: to fill one that has no memory, or multiply it, has torch load its compiler."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = getattr(func, "__name__", ""), kwargs or {}
        fills = name.endswith("_") and not name.endswith("__") and name != "requires_grad_"
        return (*args, *kwargs.values())[0] if fills else func(*args, **kwargs)


def best_device() -> torch.device:
    """CUDA where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def failure_of(error: BaseException) -> Failure:
    """Tells whether an error is the device's own, which another device would not make."""
    if isinstance(error, torch.OutOfMemoryError):
        return "full"
    return "lost" if isinstance(error, torch.AcceleratorError) or str(error).startswith("CUDA error") else ""


class Placement(Generic[Network]):
    """A network on the best device, and on the processor once that device fails: an answer then takes longer and is the same.

    The processor's network is kept beside the device's, since nothing can be read back from a device that is lost.

    Attributes:
        model: the network that computes now. device: where it is.
        failure: why it left its first device, empty while it is there.
    """

    def __init__(self, model: Network, device: torch.device | None = None) -> None:
        self._here, self.model, self.device = model, model, torch.device("cpu")
        self.failure: Failure = ""
        self._lock = threading.Lock()
        wanted = device or best_device()
        if wanted.type != "cpu":
            try:
                self.model, self.device = deepcopy(model).to(wanted), wanted
            except RuntimeError as error:
                if not failure_of(error):
                    raise
                self._leave(error)

    @property
    def where(self) -> Literal["cpu", "gpu"]:
        """Kind of the device that computes now."""
        return "cpu" if self.device.type == "cpu" else "gpu"

    def run(self, compute: Callable[[], Answer]) -> Answer:
        """The answer of a computation that reads `model` and `device`; a second time, on the processor, where the device fails.

        Raises:
            RuntimeError: any other than the device's own.
        """
        began = self.device
        try:
            return compute()
        except RuntimeError as error:
            # a thread beside this one may have left the device in the middle of this computation
            if began.type == "cpu" or not (failure_of(error) or self.device != began):
                raise
            self._leave(error)
        return compute()

    def _leave(self, error: RuntimeError) -> None:
        with self._lock:
            if not self.failure:
                self.failure = failure_of(error) or "lost"
                _log.warning("the GPU is %s, so the processor computes from now on: %s", self.failure, error)
            self.model, self.device = self._here, torch.device("cpu")


class Placed(Protocol):
    """Whatever computes by a network that has a place."""

    @property
    def placement(self) -> Placement[Any]:
        """The network and its device."""
        ...


def falls_back(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """The function run by the placement of its first argument, a `Placed`: see `Placement.run`."""

    @wraps(function)
    def run(*args: Given.args, **kwargs: Given.kwargs) -> Answer:
        return cast(Placed, args[0]).placement.run(lambda: function(*args, **kwargs))

    return run


def computes_bfloat16(device: torch.device) -> bool:
    """Tells whether the device multiplies bfloat16 in hardware; other CPUs take several times as long as in float32."""
    if device.type == "cpu":
        return bool(torch.cpu._is_avx512_bf16_supported())
    return device.type == "cuda" and torch.cuda.is_bf16_supported()


def in_bfloat16(device: torch.device, *, wanted: bool = True) -> torch.autocast:
    """Context of a forward pass in bfloat16, where that is wanted and the device multiplies it in hardware."""
    return torch.autocast(device.type, torch.bfloat16, enabled=wanted and computes_bfloat16(device))


def at_once(numbers: int, device: torch.device, most: int) -> int:
    """Inputs to compute at once, at `most`: on a processor as many as its cache holds with what is made of them.

    Args:
        numbers: of one input.
    """
    return most if device.type != "cpu" else max(1, min(most, CACHED // numbers))


def use_one_thread() -> None:
    """Compute on one thread from now on, for a process that predicts one window at a time beside other work.

    Splitting a window's forward pass over cores costs more than it saves, and waits for the slowest of them.
    """
    torch.set_num_threads(1)
