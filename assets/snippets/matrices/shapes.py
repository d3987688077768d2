# The same numbers in another shape, with numpy alone.
import numpy as np

A = None
SHAPE = "transpose"  # transpose, reshape, slice, concatenate or eye

# %% None of them computes anything new.
made = {
    "transpose": A.T,
    "reshape": A.reshape(2, 6),
    "slice": A[1:3, 1:3],
    "concatenate": np.hstack([A, A]),
    "eye": np.eye(3) @ A,
}[SHAPE]
assert set(made.ravel()) <= set(A.ravel())
found = {"made": made, "size": made.size}
