# The same weights as one head and as several, with numpy alone.
import numpy as np

X = None  # tokens, a row a word
W_Q = None
W_K = None
W_V = None
W_O = None
HEADS = 4
WORD = 1


# %% Each head reads its own columns.
def attend(heads):
    q, k, v = ((X @ w).reshape(len(X), heads, -1).transpose(1, 0, 2) for w in (W_Q, W_K, W_V))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights, (weights @ v).transpose(1, 0, 2).reshape(X.shape) @ W_O


(single, _output), (multi, output) = attend(1), attend(HEADS)
found = {"single": single[0, WORD], "first head": multi[0, WORD], "output": output[WORD]}
