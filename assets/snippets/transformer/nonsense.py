# How sure a model is of an answer to nonsense, with numpy alone.
import numpy as np

SYMBOLS = []  # probability of each symbol of the answer
RANDOM = None  # probability of the answers to random texts

# %% The probability of an answer is the product of its symbols'.
probability = 1.0
for count, one in enumerate(SYMBOLS, 1):
    probability *= one
    print(f"after {count:2} symbols: {probability:.4f}")
assert np.isclose(np.log(probability), np.log(SYMBOLS).sum())

# %% How many random texts, none of which is a date, get a sure answer.
found = {"probability": probability, "sure of random texts": int((RANDOM > 0.9).sum()), "of": len(RANDOM)}
print("a sure answer is no sign of a date:", found["sure of random texts"] / found["of"])
