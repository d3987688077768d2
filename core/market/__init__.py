"""Order book -> features -> prediction -> score."""
