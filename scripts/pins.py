"""Prints the pinned packages of extras of pyproject.toml in one line: `pip install $(python scripts/pins.py hands sign-in)`."""

import sys
import tomllib
from pathlib import Path

EXTRAS = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
print(*(pin for name in sys.argv[1:] for pin in EXTRAS["optional-dependencies"][name]))
