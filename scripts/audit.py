"""`python -m scripts.audit`: asks pip-audit whether the packages of the locks have known weaknesses, where its service answers.

pip takes it from the index that it is configured for. It says so in one line where that or the service does not answer within
half a minute, and ends well: a check that hangs on a network must not decide over a change. What it
finds is printed; with `--strict` it also fails.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
TOOL: Final = "pip-audit==2.10.1"
WHOLE_S: Final = 30.0
LOCKS: Final = ("requirements.lock", "requirements-cuda.lock")


def audit(folder: Path) -> tuple[str, bool]:
    """Returns what pip-audit says, installed into this folder; and whether it found something.

    Raises:
        OSError, subprocess.SubprocessError: where it cannot be installed or does not end in time.
    """
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), TOOL]
    subprocess.run(install, check=True, capture_output=True, timeout=WHOLE_S)
    files = [word for name in LOCKS for word in ("-r", str(ROOT / name))]
    options = ["--require-hashes", "--disable-pip", "--progress-spinner", "off", "--timeout", "5"]
    command = [sys.executable, "-m", "pip_audit", *options, *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WHOLE_S, cwd=folder, check=False)
    if done.returncode > 1:
        raise subprocess.SubprocessError(done.stderr[-300:])
    return (done.stdout + done.stderr).strip(), "vulnerabilit" in done.stderr and "No known" not in done.stderr


def main() -> int:
    """0 unless something was found and `--strict` was given."""
    p = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    p.add_argument("--strict", action="store_true", help="fail where a package has a known weakness")
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            text, found = audit(Path(folder))
        except (OSError, subprocess.SubprocessError) as error:
            print(f"pip-audit skipped: it could not be installed, or its service does not answer ({type(error).__name__})")
            return 0
    print(text)
    return int(found and o.strict)


if __name__ == "__main__":
    raise SystemExit(main())
