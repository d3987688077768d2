# Word error rate by Levenshtein's table, with numpy alone.
import numpy as np

REFERENCES = []  # sentences as lists of words: what was signed
HYPOTHESES = []  # what was recognised


# %% The fewest edits from the beginning of one sentence to that of the other.
def distance(reference, hypothesis):
    table = np.zeros((len(reference) + 1, len(hypothesis) + 1), dtype=int)
    table[:, 0], table[0, :] = range(len(reference) + 1), range(len(hypothesis) + 1)
    for i, word in enumerate(reference, 1):
        for j, other in enumerate(hypothesis, 1):
            substituted = table[i - 1, j - 1] + (word != other)
            table[i, j] = min(substituted, table[i - 1, j] + 1, table[i, j - 1] + 1)
    return table[-1, -1]


# %% All edits over all words of the reference.
edits = sum(distance(one, other) for one, other in zip(REFERENCES, HYPOTHESES))
words = sum(len(one) for one in REFERENCES)
found = {"edits": edits, "rate": edits / words if words else np.nan}
