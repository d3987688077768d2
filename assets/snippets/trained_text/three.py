# One row of attention in three trained models at a temperature, and over how many tokens it is spread, with numpy alone.
import numpy as np

BOOK_Q = None  # the query, d_k numbers
BOOK_K = None  # the keys, a row a time step
GARMENT_Q = None
GARMENT_K = None  # a row a token: the class token and the patches
HAND_Q = None
HAND_K = None  # a row a frame
TAU = 1.0  # the temperature; the models were trained at 1


# %% Scores of the query with each key over the temperature, and their softmax.
def attend(q, k, tau):
    scores = k @ q / (tau * np.sqrt(len(q)))
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


# %% Entropy, and the number of tokens over which even weights have it.
found = {}
for name, q, k in (("book", BOOK_Q, BOOK_K), ("garment", GARMENT_Q, GARMENT_K), ("hand", HAND_Q, HAND_K)):
    row = attend(q, k, TAU)
    entropy = -(row[row > 0] * np.log(row[row > 0])).sum()
    found[name] = [entropy, np.exp(entropy)]

# %% Without queries and keys: the weights at temperature 1 to the power 1 / TAU, divided by their sum.
logs = np.log(attend(BOOK_Q, BOOK_K, 1.0))
powers = np.exp((logs - logs.max()) / TAU)
assert np.allclose(powers / powers.sum(), attend(BOOK_Q, BOOK_K, TAU), atol=1e-6)
