"""Finds a forecaster by its name, file or address."""

from __future__ import annotations

import http.client
import io
import ipaddress
import os
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from core.market.book import FloatArray
from core.market.calibration import softmax
from core.market.forecasters.blend import BlendForecaster, CheckpointForecaster
from core.market.forecasters.protocol import Answer, Forecaster, ForecasterError, ForecastTask, TimedForecaster
from core.market.forecasters.table import SUFFIXES, TableForecaster
from core.market.forecasters.trees import TreeForecaster
from core.market.labels import smoothing_steps
from core.messages import compose

TIMEOUT_S = 5.0
MAX_BYTES = 64 * 2**20
HOSTS_VARIABLE = "OBSERVATORY_FORECASTER_HOSTS"
"""Comma-separated names of hosts that may be asked besides this machine."""
SCHEMES = ("http", "npy+http")
NPY = "application/x-npy"


class HttpForecaster:
    """Posts windows to an address and reads probabilities. Redirects are not followed.

    Args:
        address: http:// or npy+http://. timeout_s: for connecting and for each read, seconds.

    Raises:
        ForecasterError: for another scheme, or a host other than this machine that `OBSERVATORY_FORECASTER_HOSTS` does not name.
    """

    def __init__(self, address: str, task: ForecastTask, *, timeout_s: float = TIMEOUT_S) -> None:
        try:
            parts = urlsplit(address)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            host, port = "", None
        if not host or parts.scheme not in SCHEMES:
            raise ForecasterError("{address} is not an address: one such as http://127.0.0.1:9000/ is right", address=address)
        if not allowed_host(host):
            raise ForecasterError(
                "{host} is not this machine: forecasters elsewhere must be named in {variable}",
                host=host,
                variable=HOSTS_VARIABLE,
            )
        self.task, self.timeout_s, self.sends_npy = task, timeout_s, parts.scheme == "npy+http"
        self.host, self.port = "127.0.0.1" if host == "localhost" else host, port or 80
        self.path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    def predict_at(self, timestamps: NDArray[np.int64], windows: FloatArray) -> Answer:
        """Asks the address for its answer.

        Raises:
            ForecasterError: where nothing answers, or something other than probabilities.
        """
        body, headers = self._request(timestamps, windows)
        connection = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout_s)
        try:
            connection.request("POST", self.path, body=body, headers=headers)
            response = connection.getresponse()
            content = response.read(MAX_BYTES + 1)
            status, kind = response.status, response.headers.get_content_type()
        except TimeoutError as error:
            raise ForecasterError("the address did not answer within {seconds:.1f} seconds", seconds=self.timeout_s) from error
        except (OSError, http.client.HTTPException) as error:
            raise ForecasterError("the address could not be reached ({fault})", fault=type(error).__name__) from error
        finally:
            connection.close()
        if status != http.client.OK:
            raise ForecasterError("the address answered with HTTP {status}: 200 is right", status=status)
        if len(content) > MAX_BYTES:
            raise ForecasterError("the answer is larger than {most} MB", most=MAX_BYTES // 2**20)
        return _answer(content, kind)

    def _request(self, timestamps: NDArray[np.int64], windows: FloatArray) -> tuple[bytes, dict[str, str]]:
        import orjson  # which a bare training machine lacks

        heads = [list(head) for head in self.task.heads]
        if self.sends_npy:
            buffer = io.BytesIO()
            np.save(buffer, windows)
            told = {"X-Market": self.task.market, "X-Heads": heads, "X-Timestamps": timestamps.tolist()}
            # dumps of ASCII, as headers carry nothing else
            headers = {name: orjson.dumps(value).decode().encode("ascii", "replace").decode() for name, value in told.items()}
            return buffer.getvalue(), {"Content-Type": NPY, **headers}
        content = {"market": self.task.market, "heads": heads, "timestamps": timestamps, "windows": np.ascontiguousarray(windows)}
        return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY), {"Content-Type": "application/json"}


def allowed_host(host: str) -> bool:
    """Tells whether the host is this machine by its number, "localhost", or named by the environment."""
    if host == "localhost" or host in {part.strip() for part in os.environ.get(HOSTS_VARIABLE, "").split(",")} - {""}:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _answer(content: bytes, kind: str) -> Answer:
    import orjson

    wrong = ForecasterError(compose('the answer is no JSON with "probabilities", nor .npy'))
    try:
        if kind == NPY:
            return np.load(io.BytesIO(content), allow_pickle=False)
        answer = orjson.loads(content)
    except (ValueError, OSError, EOFError) as error:
        raise wrong from error
    if not isinstance(answer, dict) or "probabilities" not in answer:
        raise wrong
    return answer["probabilities"]


GROUP: Final = "attention_observatory.forecasters"
"""The group of entry points in which installed packages name forecasters."""
OFFERED_VARIABLE: Final = "OBSERVATORY_FORECASTERS"
"""Files and addresses, separated by blanks, that the live page offers besides the shipped forecasters and entry points."""


class MomentumForecaster:
    """Softmax of (-m/alpha - 1, 0, m/alpha - 1), m the mid now against the mean of its last w = min(10, h).

    Its likeliest class is what `core.market.labels.momentum` calls.
    """

    def __init__(self, task: ForecastTask) -> None:
        self.steps = [smoothing_steps(horizon) for _, horizon in task.heads]
        self.alphas = np.maximum(np.array(task.alphas), 1e-12)

    def predict(self, windows: FloatArray) -> NDArray[np.float64]:
        recent = windows[:, -max(self.steps, default=1) :]
        mid = (recent[..., 0] + recent[..., 2]) / 2
        moves = {w: mid[:, -1] / mid[:, -w:].mean(axis=1) - 1 for w in set(self.steps)}  # most heads share one average
        distance = np.clip(np.stack([moves[w] for w in self.steps], axis=1) / self.alphas, -50, 50)  # (n, heads)
        return softmax(np.stack([-distance - 1, np.zeros_like(distance), distance - 1], axis=-1))


class StationaryForecaster:
    """The same probabilities for every window, STATIONARY the likeliest; fitting its bias makes base rates of them."""

    def __init__(self, task: ForecastTask) -> None:
        self.heads = len(task.heads)

    def predict(self, windows: FloatArray) -> NDArray[np.float64]:
        return np.tile([0.25, 0.5, 0.25], (len(windows), self.heads, 1))


AnyForecaster = Forecaster | TimedForecaster
SHIPPED: Final[dict[str, Callable[[ForecastTask], AnyForecaster]]] = {
    "momentum": MomentumForecaster,
    "stationary": StationaryForecaster,
    "lightgbm": TreeForecaster,
    "deeplob": lambda task: CheckpointForecaster("deeplob", task),
    "blend": BlendForecaster,
}


def offered() -> list[str]:
    """Forecasters of the live page: shipped ones, entry points, then files and addresses that the environment names."""
    return list(dict.fromkeys([*SHIPPED, *installed_names(), *os.environ.get(OFFERED_VARIABLE, "").split()]))


@cache
def installed_names() -> tuple[str, ...]:
    """Names of the entry points; looked up once, as that reads the metadata of every installed package."""
    return tuple(sorted(entry.name for entry in entry_points(group=GROUP)))


def find_forecaster(spelling: str, task: ForecastTask) -> AnyForecaster:
    """A forecaster by the name of a shipped one or an entry point, a .csv or .parquet file, or an address.

    An entry point names an object with `predict`, or a class or function that makes one from a `ForecastTask`.

    Raises:
        ForecasterError: where there is none of this name, or it cannot be used.
    """
    if "://" in spelling:
        return HttpForecaster(spelling, task)
    if spelling.startswith(tuple(f"{scheme}:" for scheme in SCHEMES)):
        raise ForecasterError("{address} is not an address: one such as http://127.0.0.1:9000/ is right", address=spelling)
    if spelling in SHIPPED:
        return SHIPPED[spelling](task)
    if Path(spelling).suffix in SUFFIXES:
        return TableForecaster.read(Path(spelling), task)
    for entry in entry_points(group=GROUP):
        if entry.name == spelling:
            return _installed(spelling, entry.load, task)
    raise ForecasterError(
        "there is no forecaster {name!r}: {there}, a .csv or .parquet file or an address are right",
        name=spelling,
        there=", ".join([*SHIPPED, *sorted(entry.name for entry in entry_points(group=GROUP))]),
    )


def _installed(name: str, load: Callable[[], Any], task: ForecastTask) -> AnyForecaster:
    try:
        loaded = load()
        if isinstance(loaded, type) or not hasattr(loaded, "predict"):
            loaded = loaded(task)
    except ForecasterError:
        raise
    except Exception as error:  # somebody else's code may raise anything
        reason = f"{type(error).__name__}: {error}"
        raise ForecasterError("{name} cannot be loaded: {reason}", name=name, reason=reason[:200]) from error
    if not isinstance(loaded, Forecaster | TimedForecaster):
        raise ForecasterError("{name} has no method predict(windows)", name=name)
    return loaded
