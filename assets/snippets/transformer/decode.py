# The next symbol of an answer: its distribution, and where the decoder looked, with numpy alone.
import numpy as np

SYMBOLS = []
P = None  # probability of each symbol
TEXT = ""
ATTENTION = None  # cross-attention of this symbol over the text's characters

# %% The symbol, and its uncertainty in bits.
best = int(P.argmax())
bits = -(P * np.log2(np.maximum(P, 1e-300))).sum()
print("next:", SYMBOLS[best], "looked at most:", [TEXT[i] for i in ATTENTION.argsort()[::-1][:3]])
found = {"probability": P[best], "bits": bits, "sums": [P.sum(), ATTENTION.sum()], "looked": np.sort(ATTENTION)[::-1][:3]}
