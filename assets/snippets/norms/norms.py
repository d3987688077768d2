# One batch under one norm, with numpy alone.
import numpy as np

X = None  # (samples, time, channels)
NORM = "layer"  # none, layer, batch, instance or bin
AT = (1, 5, 2)  # sample, time and channel of the number that was read, counted from 0
OVER = {"layer": (2,), "batch": (0, 1), "instance": (1,)}


# %% Every norm is the same formula; they differ in which numbers share the mean and the variance.
def standardise(x, axes, epsilon=1e-5):
    return (x - x.mean(axis=axes, keepdims=True)) / np.sqrt(x.var(axis=axes, keepdims=True) + epsilon)


if NORM == "none":
    y = X
elif NORM == "bin":
    y = (standardise(X, OVER["batch"]) + standardise(X, OVER["instance"])) / 2
else:
    y = standardise(X, OVER[NORM])

found = {"x": X[tuple(AT)], "y": y[tuple(AT)]}
