# The gradient of softmax, written and by PyTorch's autograd.
import numpy as np
import torch

S = None
UPSTREAM = None  # the loss's gradient by the output

# %% dS_ij = A_ij (dA_ij - sum_k dA_ik A_ik)
A = np.exp(S - S.max(axis=1, keepdims=True))
A /= A.sum(axis=1, keepdims=True)
written = A * (UPSTREAM - (UPSTREAM * A).sum(axis=1, keepdims=True))

# %% Autograd agrees.
leaf = torch.tensor(S, requires_grad=True)
leaf.softmax(dim=1).backward(torch.tensor(UPSTREAM))
assert np.allclose(written, leaf.grad)
found = {"S": written}
