"""`python -m core`: train, evaluate, faithful, record, verify, setup, bench."""

from core.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
