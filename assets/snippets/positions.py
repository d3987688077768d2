# Run it in the project's folder: the sinusoidal encoding, and a shift as a rotation.
import numpy as np

from core.lecture import positions

LENGTH = 64  # positions
WIDTH = 32  # channels, even
BASE = 10000.0
SCALE = 1.0  # the ViT report takes 0.1
SHIFT = 3  # positions

pe = positions.encoding(LENGTH, WIDTH, base=BASE, scale=SCALE)

# The formula by hand.
pos, i = np.meshgrid(np.arange(LENGTH), np.arange(WIDTH // 2), indexing="ij")
angle = pos / BASE ** (2 * i / WIDTH)
by_hand = SCALE * np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(LENGTH, WIDTH)
print("largest difference from the formula:", np.abs(pe - by_hand).max())

# One matrix takes every position SHIFT further.
moved = positions.apply_shift(pe, SHIFT, positions.rotation(WIDTH, SHIFT, base=BASE))
print(f"PE(pos + {SHIFT}) - M PE(pos), largest:", moved.largest)

# The learned positions of the shipped TLOB know no such matrix.
learned = positions.shipped("tlob").matrix
print("share of the learned encoding that the best matrix leaves over:", positions.fitted_shift(learned, SHIFT).share)

# The report's listing doubles an exponent (D11): the standard form with the base squared.
doubled = positions.encoding(LENGTH, WIDTH, base=BASE, doubled_exponent=True)
print("doubled against base squared:", np.abs(doubled - positions.encoding(LENGTH, WIDTH, base=BASE**2)).max())
