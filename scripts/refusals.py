"""Prints the errors of core whose text is translated: `Refusal` and all classes below it, for `make messages`."""

import ast
from pathlib import Path

CORE = Path(__file__).resolve().parents[1] / "core"


def refusals() -> list[str]:
    """Names of the classes, in order of the alphabet."""
    nodes = [node for path in CORE.rglob("*.py") for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    bases = {node.name: {ast.unparse(base) for base in node.bases} for node in nodes if isinstance(node, ast.ClassDef)}
    kinds = {"Refusal"}
    while more := {name for name, above in bases.items() if above & kinds} - kinds:
        kinds |= more
    return sorted(kinds)


if __name__ == "__main__":
    print(*refusals())
