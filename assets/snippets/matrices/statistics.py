# A matrix standardised by rows, by columns or as a whole, with numpy alone.
import numpy as np

X = None
OVER = "rows"  # rows (LayerNorm), columns or whole

# %% The formula is one; what shares a mean and a variance differs.
axis = {"rows": 1, "columns": 0, "whole": None}[OVER]
epsilon = 0.0 if OVER == "whole" else 1e-5
y = (X - X.mean(axis=axis, keepdims=True)) / np.sqrt(X.var(axis=axis, keepdims=True) + epsilon)

# %% What the report's class offers besides.
found = {"top left": y[0, 0], "largest": y.max(), "mean of the rows": y.mean(axis=1)}
found |= {"mean": X.mean(), "sum": X.sum(), "norm": np.linalg.norm(X), "variance": X.var()}
