# %% Five words through one attention layer, in order and shuffled, with and without positions.
X = None
W_Q = None
W_K = None
W_V = None
ORDER = [3, 4, 2, 0, 1]
WITH = False  # positions added
places = encoding(*X.shape, base=10000.0, scale=1.0) * WITH


def attend(x):
    scores = (x @ W_Q) @ (x @ W_K).T / np.sqrt(x.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ (x @ W_V)


z, z_shuffled = attend(X + places), attend(X[ORDER] + places)
found = {"largest |Z' - PZ|": np.abs(z_shuffled - z[ORDER]).max()}
