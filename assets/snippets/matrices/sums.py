# One operation on two small matrices, with numpy and by a loop over entries.
import numpy as np

A = None
B = None
OPERATION = "product"  # sum, row (added to every row), difference, product or scaled
ENTRY = [0, 1]

# %% By numpy.
C = {"product": lambda: A @ B, "difference": lambda: A - B, "scaled": lambda: B[0, 0] * A}.get(OPERATION, lambda: A + B)()

# %% By hand.
i, j = ENTRY
if OPERATION == "product":
    entry = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
elif OPERATION == "scaled":
    entry = B[0, 0] * A[i, j]
else:
    entry = A[i, j] + (-1 if OPERATION == "difference" else 1) * B[i % len(B), j]
found = {"entry": entry, "C": C}
