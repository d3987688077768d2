"""`python -m core`: train, evaluate, faithful, pairs, record, verify, setup, bench."""

from core.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
