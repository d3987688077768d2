# The last steps of a small language model for one character: two residual sums, a norm, and the chances of the next symbol.
import numpy as np

X = None  # what comes into the last layer
O = None  # what its attention adds
F = None  # what its feed-forward network adds
GAIN = None  # of the norm before that network
BIAS = None
LOGITS = None  # of every symbol that could follow

# %% Each sub-layer adds to what came in.
after_attention = X + O
after_layer = after_attention + F

# %% The norm: mean 0, variance 1 over the channels, then scale and shift.
mean, variance = after_attention.mean(), after_attention.var()
normed = (after_attention - mean) / np.sqrt(variance + 1e-5) * GAIN + BIAS

# %% The chances of the next symbol: softmax of the logits.
powers = np.exp(LOGITS - LOGITS.max())
chances = powers / powers.sum()
found = {"x1": after_attention[:4], "n2": normed[:4], "x2": after_layer[:4], "next": np.sort(chances)[::-1][:8]}
