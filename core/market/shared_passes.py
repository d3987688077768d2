"""One pass of a model for several threads: what waits while it runs goes through it together the next time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

MAX_ROWS = 32
"""Most inputs in one pass, where several callers wait: more would keep the first of them waiting."""


@dataclass(eq=False)
class _Request:
    inputs: Tensor
    ready: threading.Event = field(default_factory=threading.Event)
    answer: NDArray[np.float32] | None = None
    error: Exception | None = None


class SharedPasses:
    """Calls a function of a batch for threads that ask at the same time. One that asks alone waits for nobody.

    Args:
        function: (n, ...) inputs -> (n, ...) answers, each row from its own input alone.
        most: rows in a pass that is shared; a larger request passes alone.
    """

    def __init__(self, function: Callable[[Tensor], NDArray[np.float32]], most: int = MAX_ROWS) -> None:
        self._function, self._most = function, most
        self._lock = threading.Lock()
        self._waiting: deque[_Request] = deque()
        self._busy = False

    def __call__(self, inputs: Tensor) -> NDArray[np.float32]:
        """The function's answers for these inputs; whatever it raises is raised in every thread that shared the pass."""
        request = _Request(inputs)
        with self._lock:
            self._waiting.append(request)
            waits, self._busy = self._busy, True
        if waits:
            request.ready.wait()  # for its answer, or its turn to run the pass
        if request.answer is None and request.error is None:
            self._run()
        if request.error is not None:
            raise request.error
        assert request.answer is not None
        return request.answer

    def _run(self) -> None:
        """One pass, of the first request that waits and those behind it that fit; then the next one's turn."""
        with self._lock:
            batch = [self._waiting.popleft()]
            rows = len(batch[0].inputs)
            while self._waiting and (rows := rows + len(self._waiting[0].inputs)) <= self._most:
                batch.append(self._waiting.popleft())
        try:
            if len(batch) == 1:
                batch[0].answer = self._function(batch[0].inputs)
            else:
                answers = self._function(torch.cat([one.inputs for one in batch]))
                ends = np.cumsum([len(one.inputs) for one in batch])
                for request, answer in zip(batch, np.split(answers, ends[:-1]), strict=True):
                    request.answer = answer
        except Exception as error:
            for request in batch:
                request.error = error
        with self._lock:
            following = self._waiting[0] if self._waiting else None
            self._busy = following is not None
        for request in batch if following is None else [*batch, following]:
            request.ready.set()
