"""`python -m scripts.audit`: asks pip-audit whether the pinned packages have known weaknesses, where its service answers.

It says so in one line where it does not, and ends well: a check that hangs on a network must not decide over a change. What it
finds is printed; with `--strict` it also fails.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
TOOL: Final = "pip-audit==2.10.1"
SERVICE: Final = "https://pypi.org/pypi/{name}/{version}/json"
"""Address that pip-audit asks by default, of each package: the index's own list of advisories."""
ANSWER_S: Final = 5.0
WHOLE_S: Final = 30.0
EXTRAS: Final = ("sign-in",)


def service_answers() -> str | None:
    """None where the service answers, else why not."""
    pins = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    name, version = next(line for line in pins if "==" in line).split("==")
    try:
        with urllib.request.urlopen(SERVICE.format(name=name, version=version), timeout=ANSWER_S) as answer:
            return None if "vulnerabilities" in json.load(answer) else "its service knows no advisories"
    except (OSError, ValueError) as error:
        return f"its service does not answer ({type(error).__name__})"


def audit(folder: Path) -> tuple[str, bool]:
    """Returns what pip-audit says, installed into this folder; and whether it found something.

    Raises:
        OSError, subprocess.SubprocessError: where it cannot be installed or does not end in time.
    """
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), TOOL]
    subprocess.run(install, check=True, capture_output=True, timeout=WHOLE_S)
    pins = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "pins.py"), *EXTRAS], check=True, capture_output=True, text=True
    )
    (folder / "extras.txt").write_text(pins.stdout.replace(" ", "\n"), encoding="utf-8")
    files = ["-r", str(ROOT / "requirements.txt"), "-r", "extras.txt"]
    command = [sys.executable, "-m", "pip_audit", "--no-deps", "--progress-spinner", "off", "--timeout", "5", *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WHOLE_S, cwd=folder, check=False)
    if done.returncode > 1:
        raise subprocess.SubprocessError(done.stderr[-300:])
    return (done.stdout + done.stderr).strip(), "vulnerabilit" in done.stderr and "No known" not in done.stderr


def main() -> int:
    """0 unless something was found and `--strict` was given."""
    p = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    p.add_argument("--strict", action="store_true", help="fail where a package has a known weakness")
    o = p.parse_args()
    problem = service_answers()
    if problem is None:
        with tempfile.TemporaryDirectory() as folder:
            try:
                text, found = audit(Path(folder))
            except (OSError, subprocess.SubprocessError) as error:
                problem = f"it could not be run ({type(error).__name__})"
            else:
                print(text)
                return int(found and o.strict)
    print(f"pip-audit skipped: {problem}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
