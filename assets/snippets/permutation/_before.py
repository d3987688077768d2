# Self-attention of shuffled words with numpy alone.
import numpy as np

WORDS = []
ORDER = []  # row i of PX is row ORDER[i] of X
X = None  # tokens, a row a word
W_Q = None
W_K = None
W_V = None
HEADS = 1
POSITIONS = False  # whether positions are added, by place
CAUSAL = "none"  # none; fixed: by place; permuted: shuffled along with the words

n, width = X.shape
P = np.eye(n)[ORDER]
angle = np.arange(n)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
PE = np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(n, width)


# %% One layer of attention: the maps (heads, n, n) and Z, the heads side by side (n, width).
def attend(x, mask):
    q, k, v = ((x @ w).reshape(n, HEADS, -1).transpose(1, 0, 2) for w in (W_Q, W_K, W_V))
    scores = np.where(mask, q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]), -np.inf)
    maps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    maps /= maps.sum(axis=-1, keepdims=True)
    return maps, (maps @ v).transpose(1, 0, 2).reshape(n, width)


def compare(positions, causal):
    places = PE * positions
    mask = np.ones((n, n)) if causal == "none" else np.tri(n)
    before, z = attend(X + places, mask > 0)
    after, z_after = attend(P @ X + places, (P @ mask @ P.T if causal == "permuted" else mask) > 0)
    return before, z, after, z_after
