"""`python -m scripts.lock`: writes the pins of all packages with their files' digests, beside the readable requirements.txt.

    pip install --require-hashes -r requirements.lock -r requirements-cpu.lock    # torch's CPU build for Linux on x86
    pip install --require-hashes -r requirements.lock -r requirements-cuda.lock   # torch as it comes

Needs uv, and a pip whose settings know torch's CPU build. The builds of torch stand in files of their own, since one of them asks
for CUDA's packages.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
OF_CUDA: Final = re.compile(r"torch==|nvidia-(?!ml-py)|cuda-|triton")
EXTRAS: Final = ("sign-in",)


def compiled(folder: Path) -> list[str]:
    """Each package's entry: its pin, its marker, and a digest a line."""
    extras = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "pins.py"), *EXTRAS], check=True, capture_output=True, text=True
    ).stdout.split()
    wanted = folder / "wanted.txt"
    wanted.write_text("\n".join([(ROOT / "requirements.txt").read_text(encoding="utf-8"), *extras]), encoding="utf-8")
    options = [
        "--generate-hashes",
        "--no-annotate",
        "--no-header",
        "--no-strip-extras",
        "--universal",
        "--python-version",
        "3.11",
    ]
    text = subprocess.run(
        ["uv", "pip", "compile", "--quiet", *options, str(wanted)], check=True, capture_output=True, text=True
    ).stdout
    return re.findall(r"^\S.*(?:\n {4}.*)*\n", text, re.MULTILINE)


def of_cpu(pin: str, folder: Path) -> str:
    """Entry of torch's CPU build for this machine."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), f"{pin}+cpu"]
    subprocess.run(command, check=True)
    (file,) = folder.glob("torch-*.whl")
    return f"{pin}+cpu \\\n    --hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}\n"


def main() -> None:
    """Write the three files."""
    with tempfile.TemporaryDirectory() as folder:
        entries = compiled(Path(folder))
        of_cuda = [entry for entry in entries if OF_CUDA.match(entry)]
        pin = next(entry for entry in of_cuda if entry.startswith("torch==")).split()[0]
        cpu = of_cpu(pin, Path(folder))
    for name, what, part in (
        (
            "requirements.lock",
            "every package but torch, with the digests of its files",
            [one for one in entries if one not in of_cuda],
        ),
        ("requirements-cpu.lock", "torch's CPU build for Linux on x86", [cpu]),
        ("requirements-cuda.lock", "torch as it comes, and what its CUDA build needs", of_cuda),
    ):
        (ROOT / name).write_text(f"# Written by `python -m scripts.lock`: {what}.\n{''.join(part)}", encoding="utf-8")


if __name__ == "__main__":
    main()
