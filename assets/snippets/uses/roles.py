# What a query, a key and a value do, with numpy alone.
import numpy as np

X = None  # tokens, a row a word
W_Q = None
W_K = None
W_V = None
ROLE = "v"  # whose row of a word is multiplied: q, k or v
WORD = 1
FACTOR = 2.0


# %% Relevance comes from queries and keys; values are what is mixed.
def attend(q, k, v):
    scores = q @ k.T / np.sqrt(k.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights, weights @ v


before = {"q": X @ W_Q, "k": X @ W_K, "v": X @ W_V}
after = {name: values.copy() for name, values in before.items()}
after[ROLE][WORD] *= FACTOR
(A, Z), (A_after, Z_after) = attend(**before), attend(**after)
found = {"largest change of A": np.abs(A_after - A).max(), "largest change of Z": np.abs(Z_after - Z).max()}
