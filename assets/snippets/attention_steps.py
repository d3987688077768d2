# Run it in the project's folder: attention step by step, and PyTorch's own layer as witness.
import numpy as np

from core.lecture import attention_steps, tokens

SENTENCE = "the cat sat on the mat"
HEADS = 1  # 1, 2 or 4
MASK = "none"  # none, causal, window, padding or causal_padding
WINDOW = 1  # keys to either side, for the window mask
KEPT = 4  # real tokens, for the padding masks
TEMPERATURE = 1.0
SEED = 0
EDITS = {}  # such as {"W_Q": {(0, 1): 1.5}}; "X" for the tokens

words = tokens.split_words(SENTENCE)
x = tokens.embed(words, 4, seed=SEED)
weights = attention_steps.random_weights(4, seed=SEED)
for name, edits in EDITS.items():
    for (row, column), value in edits.items():
        (x if name == "X" else weights[name])[row, column] = value

mask = attention_steps.build_mask(MASK, len(words), window=WINDOW, kept=KEPT)
found = attention_steps.steps(x, weights, heads=HEADS, mask=mask, temperature=TEMPERATURE)
np.set_printoptions(precision=3, suppress=True)
print("Q, first head:\n", found.q[0])
print("scores / (temperature sqrt(d_k)):\n", found.masked[0])
print("weights:\n", found.weights[0])
print("entropy of each query, nats:", found.entropy[0])
print("output:\n", found.output)
print("largest difference from torch.nn.MultiheadAttention:", attention_steps.deviation_from_torch(found, weights))
