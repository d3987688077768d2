# Positional encoding with numpy alone.
import numpy as np

LENGTH = 64  # positions
WIDTH = 32  # channels, even
BASE = 10000.0
SCALE = 1.0
LEARNED = None  # the matrix of a trained model, where the view shows one
POS = 5  # position
PAIR = 2  # pair of channels
SHIFT = 3


def encoding(length=LENGTH, width=WIDTH, base=BASE, scale=SCALE):
    angle = np.arange(length)[:, None] / base ** (np.arange(0, width, 2) / width)
    return scale * np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(length, -1)[:, :width]


# %% The matrix of this view.
PE = encoding() if LEARNED is None else LEARNED
