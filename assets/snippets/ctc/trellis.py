# CTC's loss of one target by its forward recursion, with numpy alone.
import numpy as np

P = None  # probabilities, a row a frame; column 0 is the blank
TARGET = []  # the column of each label
SKIP = True  # whether the blank between two different labels may be left out

# %% A blank around every label; a state is reached from itself, from the one before, and over a blank.
states = [0] + [one for label in TARGET for one in (label, 0)]
alpha = np.zeros((len(P), len(states)))
alpha[0, :2] = P[0, states[:2]]
for t in range(1, len(P)):
    for s, label in enumerate(states):
        ways = alpha[t - 1, s] + (alpha[t - 1, s - 1] if s else 0.0)
        if SKIP and s > 1 and label and label != states[s - 2]:
            ways += alpha[t - 1, s - 2]
        alpha[t, s] = P[t, label] * ways

# %% A path ends in the last label or in the blank after it.
found = {"loss": -np.log(alpha[-1, -2:].sum())}


# %% Collapse a path: merge repeats, then take the blanks out.
def collapse(path, blank="ε"):
    merged = [one for one, before in zip(path, [None, *path]) if one != before]
    return "".join(one for one in merged if one != blank)


assert collapse("HHεOOLA") == "HOLA"
