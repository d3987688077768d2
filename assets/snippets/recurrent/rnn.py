# An RNN unrolled with numpy alone.
import numpy as np

X = None  # the sequence, a row a step
W_hx = None
W_hh = None
b_h = None
W_hy = None
b_y = None
STEP = 0  # the step that was read, counted from 0
UNIT = 0

# %% h_t = tanh(W_hx x_t + W_hh h_(t-1) + b_h), y_t = W_hy h_t + b_y
h = np.zeros(len(b_h))
states, outputs = [], []
for x in X:
    h = np.tanh(W_hx @ x + W_hh @ h + b_h)
    states.append(h)
    outputs.append(W_hy @ h + b_y)
found = {"h": states[STEP][UNIT], "y": outputs[STEP][0], "the step's state": states[STEP]}
