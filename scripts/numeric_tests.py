"""Run the numeric tests under several instruction sets and numbers of threads: no test may hang on a processor's last bits.

    python scripts/numeric_tests.py [arguments for pytest]

The tests as `make test` runs them take the processor's best instructions and one thread, so the two combinations here are those
that it leaves out on a processor with AVX-512. What the processor lacks is left out.
"""

from __future__ import annotations

import os
import subprocess
import sys

import torch

COMBINATIONS = (
    # PyTorch's kernels, MKL's kernels, threads, tests
    ("default", "SSE4_2", 1, tuple(f"tests/core/{folder}" for folder in ("nn", "models", "explain"))),
    ("avx2", "AVX2", 2, tuple(f"tests/core/{folder}" for folder in ("nn", "models"))),
)
LEVELS = ("default", "avx2", "avx512")
PYTEST = ("--numprocesses", "2", "--dist", "loadfile", "--timeout", "600")


def main() -> int:
    """One run of pytest for each combination; the exit status is 0 where all passed."""
    best = LEVELS.index(torch.backends.cpu.get_cpu_capability().lower())
    failed = []
    for kernels, mkl, threads, tests in COMBINATIONS:
        name = f"ATEN_CPU_CAPABILITY={kernels} MKL_ENABLE_INSTRUCTIONS={mkl} OMP_NUM_THREADS={threads}"
        if LEVELS.index(kernels) > best:
            print(f"{name}: left out, this processor has no {kernels}", flush=True)
            continue
        print(name, flush=True)
        settings = {
            "ATEN_CPU_CAPABILITY": kernels,
            "MKL_ENABLE_INSTRUCTIONS": mkl,
            "OMP_NUM_THREADS": str(threads),
            "OMP_WAIT_POLICY": "PASSIVE",  # idle threads of one worker leave the cores to the other
        }
        command = [sys.executable, "-m", "pytest", "-m", "numeric", "-q", *tests, *PYTEST]
        if subprocess.run([*command, *sys.argv[1:]], env={**os.environ, **settings}, check=False).returncode:
            failed.append(name)
    for name in failed:
        print(f"failed: {name}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
