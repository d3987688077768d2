# The gradients of one head of attention, written and by PyTorch's autograd.
import numpy as np
import torch

Q = None
K = None
V = None
UPSTREAM = None  # the loss's gradient by the output
CAUSAL = False

# %% Forward, then back: through the sum, the softmax and the scaled product.
root = np.sqrt(Q.shape[1])
scores = np.where(np.tri(len(Q)) > 0 if CAUSAL else True, Q @ K.T / root, -np.inf)
A = np.exp(scores - scores.max(axis=1, keepdims=True))
A /= A.sum(axis=1, keepdims=True)
dA = UPSTREAM @ V.T
dS = A * (dA - (dA * A).sum(axis=1, keepdims=True))
found = {"Q": dS @ K / root, "K": dS.T @ Q / root, "V": A.T @ UPSTREAM}

# %% Autograd agrees.
leaves = [torch.tensor(one, requires_grad=True) for one in (Q, K, V)]
torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=CAUSAL).backward(torch.tensor(UPSTREAM))
assert all(np.allclose(written, leaf.grad) for written, leaf in zip(found.values(), leaves))
