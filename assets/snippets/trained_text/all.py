# What one head of a trained model looks at, and what the model expects next, with numpy alone.
import numpy as np

READ = ""
Q = None  # the query of the last character read
K = None  # the keys of the sign of the beginning and of every character read, a row each
LOGITS = None  # of every symbol that could follow

# %% The head's weights: softmax of q k / sqrt(d_k).
scores = K @ Q / np.sqrt(len(Q))
powers = np.exp(scores - scores.max())
weights = powers / powers.sum()

# %% The likeliest next symbols: softmax of the logits.
powers = np.exp(LOGITS - LOGITS.max())
probabilities = powers / powers.sum()
print(f"{READ!r}:", len(weights), "weights, entropy", -(weights * np.log(weights)).sum())
found = {"weights": weights, "next": np.sort(probabilities)[::-1][:8]}
