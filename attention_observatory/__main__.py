"""`attention-observatory run [--port N] [--address HOST]` starts the app; any other command is one of `python -m core`."""

import argparse
import os
import runpy
import sys
from importlib.util import find_spec

from attention_observatory import APP


def main(arguments: list[str] | None = None) -> int:
    """Run one command; without any, the app. Returns as `core.cli.main` does."""
    given = sys.argv[1:] if arguments is None else arguments
    if given and given[0] != "run":
        from core.cli import main as run_command

        more = "`attention-observatory run` starts the app; `run --help` says with which options."
        return run_command(given, program="attention-observatory", more=more)
    p = argparse.ArgumentParser(prog="attention-observatory run", description="Start the app.")
    p.add_argument("--port", type=int, default=8501)
    p.add_argument("--address", default="localhost", help="localhost serves this machine alone, 0.0.0.0 a network")
    o, further = p.parse_known_args(given[1:])
    if find_spec("streamlit") is None:
        p.error("the app needs more packages than the library: pip install 'attention-observatory[app]' brings them")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read as numpy is imported: its threads wait for each other in a loop
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        # read as a process begins: with two heaps glibc gives freed memory back, where each thread's own would keep it
        os.environ["MALLOC_ARENA_MAX"] = "2"
        os.execv(sys.executable, [sys.executable, "-m", "attention_observatory", "run", *given[1:]])
    command = ["run", str(APP / "streamlit_app.py"), "--server.port", str(o.port), "--server.address", o.address]
    sys.argv = ["streamlit", *command, *further]
    runpy.run_module("streamlit", run_name="__main__")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
