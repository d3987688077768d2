"""Commands of `python -m core` that need the laboratory, one file each."""
