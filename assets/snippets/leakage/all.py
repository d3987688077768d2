# Matthews correlation of three classes from confusion matrices, with numpy alone.
import numpy as np

MATRICES = {"example": np.array([[[3, 1, 0], [1, 4, 1], [0, 1, 3]]])}  # by measurement: a matrix a seed, true class down


# %% 1 is perfect, 0 is what a constant or a blind answer scores.
def matthews(matrix):
    true, called, right, n = matrix.sum(axis=1), matrix.sum(axis=0), np.trace(matrix), matrix.sum()
    top = right * n - true @ called
    bottom = np.sqrt(float(n**2 - true @ true) * float(n**2 - called @ called))
    return top / bottom if bottom else 0.0


found = {name: np.mean([matthews(one) for one in np.array(seeds)]) for name, seeds in MATRICES.items()}
for name, score in found.items():
    print(f"{name:28} {score:.3f}")
