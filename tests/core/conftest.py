"""What every test of core shares."""

from __future__ import annotations

import torch

# The tensors here are small: a second thread waits more than it works.
torch.set_num_threads(1)
