"""Prints the errors of core whose text is translated: `Refusal` and all classes below it, for `make messages`."""

import re
from pathlib import Path

CORE = Path(__file__).resolve().parents[1] / "core"


def refusals() -> list[str]:
    """Names of the classes, in order of the alphabet."""
    texts = (path.read_text(encoding="utf-8") for path in CORE.rglob("*.py"))
    bases = {name: set(above.split(", ")) for text in texts for name, above in re.findall(r"^ *class (\w+)\((.*)\):", text, re.M)}
    kinds = {"Refusal"}
    while more := {name for name, above in bases.items() if above & kinds} - kinds:
        kinds |= more
    return sorted(kinds)


if __name__ == "__main__":
    print(*refusals())
