"""What every test of core shares."""

from __future__ import annotations

import os

import torch

# The tensors here are small: a second thread waits more than it works. `make numeric` asks for two all the same.
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
