# How sure a model is of an answer to nonsense, with numpy alone.
import numpy as np

SYMBOLS = []  # probability of each symbol of the answer
RANDOM = None  # probability of the answers to random texts

# %% The product of its symbols' probabilities, and the share of random texts that get a sure answer.
found = {"probability": np.prod(SYMBOLS), "sure of random texts": int((RANDOM > 0.9).sum()), "of": len(RANDOM)}
