# An LSTM unrolled with numpy alone.
import numpy as np

X = None  # the sequence, a row a step
W = {}  # by gate: f, i, c and o
U = {}
B = {}
STEP = 0  # the step that was read, counted from 0
UNIT = 0


# %% Three gates and a candidate; the cell is the long memory, the state the short one.
def sigmoid(z):
    return 1 / (1 + np.exp(-z))


h, c = np.zeros(len(B["f"])), np.zeros(len(B["f"]))
for step, x in enumerate(X[: STEP + 1]):
    z = {gate: W[gate] @ x + U[gate] @ h + B[gate] for gate in "fico"}
    f, i, o, candidate = sigmoid(z["f"]), sigmoid(z["i"]), sigmoid(z["o"]), np.tanh(z["c"])
    c = f * c + i * candidate
    h = o * np.tanh(c)
found = {"f": f[UNIT], "i": i[UNIT], "o": o[UNIT], "candidate": candidate[UNIT], "c": c[UNIT], "h": h[UNIT]}
