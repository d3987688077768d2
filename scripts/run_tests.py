"""All tests in three processes; `make test`. With arguments, one process of pytest with these.

One drives the browser; one has the market's tests, which mostly wait for servers and clocks, and so take the processor when the
others leave it. What these two print comes at the end.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile

PYTEST = (sys.executable, "-m", "pytest")
ASIDE = ("tests/browser", "tests/core/market")


def main() -> int:
    """Run them; the exit status is 0 where all passed."""
    if arguments := sys.argv[1:]:
        return subprocess.run([*PYTEST, *arguments], check=False).returncode
    with tempfile.TemporaryFile() as first, tempfile.TemporaryFile() as second:
        runs = [
            (subprocess.Popen([*PYTEST, folder], stdout=printed, stderr=subprocess.STDOUT), printed)
            for folder, printed in zip(ASIDE, (first, second), strict=True)
        ]
        try:
            codes = [subprocess.run([*PYTEST, *(f"--ignore={folder}" for folder in ASIDE)], check=False).returncode]
            codes += [run.wait() for run, _printed in runs]
        finally:
            for run, _printed in runs:
                run.terminate()
        for _run, printed in runs:
            printed.seek(0)
            print(printed.read().decode("utf-8", "replace"), flush=True)
    return next(filter(None, codes), 0)


if __name__ == "__main__":
    sys.exit(main())
