# Multi-head attention with numpy alone, from the words of one view.
import numpy as np

WORDS = []
X = None  # tokens, a row a word
W_Q = None
W_K = None
W_V = None
W_O = None
HEADS = 1
MASK = None  # 1 where a query (row) may look at a key (column)
TEMPERATURE = 1.0
QUERY = 0  # the row that was read, counted from 0

# %% Queries, keys and values, split into heads: (heads, words, d_k).
q, k, v = ((X @ w).reshape(len(X), HEADS, -1).transpose(1, 0, 2) for w in (W_Q, W_K, W_V))
raw = q @ k.transpose(0, 2, 1)
scores = np.where(MASK, raw / (TEMPERATURE * np.sqrt(q.shape[-1])), -np.inf)

# %% Softmax of every row; a query that may look nowhere has weights of 0.
largest = scores.max(axis=-1, keepdims=True)
powers = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
weights = powers / np.maximum(powers.sum(axis=-1, keepdims=True), 1e-300)
mixed = weights @ v
joined = mixed.transpose(1, 0, 2).reshape(len(X), -1)
output = joined @ W_O
entropy = -(weights * np.log(np.maximum(weights, 1e-300))).sum(axis=-1)
