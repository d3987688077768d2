"""Runs a command of `python -m core`, and ends it when the process that started it ends.

    python -m core.runs.attached FOLDER evaluate tlob --data ...

The starting process holds the other end of standard input and writes nothing to it: the end of the input is that process's end,
a SIGKILL included, on every operating system. FOLDER, where the command writes, is then removed.
"""

from __future__ import annotations

import os
import runpy
import shutil
import sys
import threading
from pathlib import Path

import core

INPUT = 0
"""Descriptor of standard input; read without Python's buffer, whose lock would be held while the interpreter shuts down."""


def main() -> None:
    """Watch standard input from now on, then run the command as `python -m core` would."""
    threading.Thread(target=_end_with_input, args=(Path(sys.argv.pop(1)),), daemon=True).start()
    runpy.run_module(core.__name__, run_name="__main__", alter_sys=True)


def _end_with_input(folder: Path) -> None:
    while os.read(INPUT, 4096):
        pass
    for _ in range(5):  # the command may write a file while its folder is being emptied
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            break
    os._exit(1)


if __name__ == "__main__":
    main()
