"""The locks hold what requirements.txt and the image's extra pin, each with digests, and nothing of where it comes from."""

import re

from tests.test_docs import ROOT

ENTRY = re.compile(r"^([\w.-]+)(?:\[[\w,-]+\])?==(\S+)(.*(?:\n {4}.*)*)", re.MULTILINE)


def locked(*names: str) -> dict[str, str]:
    """Version of each package of these files; each has a digest."""
    text = "\n".join((ROOT / name).read_text(encoding="utf-8") for name in names)
    found = ENTRY.findall(text)
    assert "http:" not in text and "https:" not in text and "file:" not in text
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", rest) for _name, _version, rest in found)
    return {name: version for name, version, _rest in found}


def test_the_locks_hold_the_pins() -> None:
    written = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    extras = re.findall(r'"(authlib==[^"]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.IGNORECASE)
    pins = dict(line.split("==") for line in (*written, *extras) if "==" in line)
    assert extras
    names = {name.lower(): version.partition(";")[0].strip() for name, version in pins.items()}
    with_cuda, with_cpu = (locked("requirements.lock", f"requirements-{one}.lock") for one in ("cuda", "cpu"))
    assert names.items() <= with_cuda.items(), "a pin has changed: run `python -m scripts.lock`"
    assert names.items() <= (with_cpu | {"torch": with_cpu["torch"].removesuffix("+cpu")}).items()
    assert "triton" in with_cuda and not {"triton", "cuda-toolkit", "nvidia-cublas"} & with_cpu.keys()
