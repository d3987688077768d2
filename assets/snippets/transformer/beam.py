# The score of an answer is a sum of logarithms, with numpy alone.
import numpy as np

LOGS = []  # natural logarithm of each symbol's probability: the best of the beam
ANSWERS = {}  # answer -> its logarithms

# %% A product of probabilities is a sum of logarithms, which does not underflow.
score = sum(LOGS)
assert np.isclose(np.exp(score), np.prod(np.exp(LOGS)))
for answer, logs in ANSWERS.items():
    print(f"{answer:12} {np.exp(sum(logs)):.6f}")
found = {"score": score, "probability": np.exp(score), "all of them": [np.exp(sum(logs)) for logs in ANSWERS.values()]}
