"""The installed command: `attention-observatory`, which starts the app or runs a command of `python -m core`."""
