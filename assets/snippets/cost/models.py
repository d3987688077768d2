# Parameters and multiply-adds of TLOB's two readings by formula, with numpy alone.
import numpy as np

CONFIGS = {}  # by name: steps T, width D, features, pairs of layers, whether queries, keys and values are projected twice


def linear(tokens, inputs, outputs):
    return np.array([inputs * outputs + outputs, tokens * inputs * outputs])


# %% Parameters and multiply-adds, module by module.
def tlob(steps, width, features, pairs, double, learned):
    total = np.array([4 * features + steps * width * learned, 0]) + linear(steps, features, width)
    for tokens, size in [(steps, width), (width, steps)] * pairs:
        total = total + (4 + 4 * double) * linear(tokens, size, size)
        total = total + [2 * size, 2 * tokens**2 * size]  # norm; Q K^T and A V
        total = total + linear(tokens, size, 4 * size) + linear(tokens, 4 * size, size)
    return total + linear(1, width, 128) + linear(1, 128, 3)


found = {name: tlob(*config) for name, config in CONFIGS.items()}
