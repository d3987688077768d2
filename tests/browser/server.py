"""The app as `make run` starts it, on a free port, with its log kept."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BAD = re.compile(r"Traceback \(most recent call last\)|\bERROR\b|^\w*Error:|Uncaught", re.MULTILINE)
LEFT = re.compile(
    r"(^.*Exception in ASGI application\n)?^Traceback(?:(?!^Traceback).)*?^\S*WebSocketDisconnected[^\n]*\n",
    re.MULTILINE | re.DOTALL,
)
"""What Streamlit logs when a page is closed while it is being written to."""


@dataclass
class AppServer:
    url: str
    log: Path
    process: subprocess.Popen[bytes]

    def written(self) -> str:
        """Its log so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def errors(self) -> list[str]:
        """What went wrong so far, by the log, each with what follows it."""
        log = LEFT.sub("", self.written())
        return [log[found.start() : found.start() + 2000] for found in BAD.finditer(log)]

    def stop(self) -> int:
        """Interrupt it, as Ctrl+C does; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"the app did not stop when interrupted; its log: {self.written()[-2000:]}") from None


@contextlib.contextmanager
def serve(
    script: Path,
    folder: Path,
    *,
    root: Path = ROOT,
    port: int | None = None,
    environment: Mapping[str, str] | None = None,
    base: str = "",
    command: Sequence[str] = (),
) -> Iterator[AppServer]:
    """Run a Streamlit script until the block ends; its log is `folder/server.log`.

    Args:
        root: working folder, whose `core` and `pages` the script imports. port: a free one where None.
        environment: variables besides this process's own. base: path that it stands under, with its first slash.
        command: in place of Streamlit's; it takes the port from the variable `PORT`.
    """
    port = port or free_port()
    log = folder / "server.log"
    command = command or [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        str(script),
        "--server.port",
        str(port),
        "--server.baseUrlPath",
        base,
    ]
    variables = {**os.environ, "PYTHONUNBUFFERED": "1", "PORT": str(port), **(environment or {})}
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=root, stdout=out, stderr=subprocess.STDOUT, env=variables)
    server = AppServer(f"http://localhost:{port}{base}", log, process)
    try:
        wait_until_up(server)
        yield server
    finally:
        server.stop()


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_until_up(server: AppServer) -> None:
    """Return once it answers; fails where it ends instead."""
    deadline = time.monotonic() + 180  # a busy machine
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            raise AssertionError(f"the app ended at once: {server.written()[-2000:]}")
        try:
            with urllib.request.urlopen(f"{server.url}/_stcore/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"the app did not come up: {server.written()[-2000:]}")
