"""All tests in two processes, one of which drives the browser; `make test`. With arguments, one process of pytest with these.

The browser's process collects its own files alone, and so imports little of what the other tests need. What it prints comes at
the end.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile

PYTEST = (sys.executable, "-m", "pytest")
BROWSER = "tests/browser"


def main() -> int:
    """Run them; the exit status is 0 where all passed."""
    if arguments := sys.argv[1:]:
        return subprocess.run([*PYTEST, *arguments], check=False).returncode
    with tempfile.TemporaryFile() as printed:
        browser = subprocess.Popen([*PYTEST, BROWSER], stdout=printed, stderr=subprocess.STDOUT)
        try:
            others = subprocess.run([*PYTEST, f"--ignore={BROWSER}"], check=False).returncode
            code = browser.wait() or others
        finally:
            browser.terminate()
        printed.seek(0)
        print(printed.read().decode("utf-8", "replace"), flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
