"""Speed of the networks: as ratios to references in the same run, and on a CUDA device."""
