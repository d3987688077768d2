"""Scores recordings that are over: any checkpoints and forecasters on the same rows, by time and regime, beside naive rules."""
