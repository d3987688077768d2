"""A forecaster that answers at an HTTP address of this machine.

`http://127.0.0.1:9000/predict` is sent JSON: {"market": ..., "heads": [["forward", 10], ...], "timestamps": [ms, ...],
"windows": (n, 128, 40)}. `npy+http://...` is sent the windows as a .npy body, and the rest in headers (X-Market, X-Heads,
X-Timestamps). The answer is JSON, {"probabilities": (n, heads, 3)} or {"probabilities": {"forward_10": (n, 3)}}, or .npy of
(n, heads, 3).
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import os
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from core.market.book import FloatArray
from core.market.forecasters.protocol import Answer, ForecasterError, ForecastTask
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
