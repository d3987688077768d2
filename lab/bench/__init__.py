"""Speed as ratios: each measured piece beside a named reference in the same run, turn by turn."""
