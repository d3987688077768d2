# Multiply-adds of TLOB, of DeepLOB's LSTM and of TransLOB by formula, on windows of 128 steps and 40 columns.
import numpy as np

BATCH = 32
T, D = 128, 40

# %% TLOB: four pairs of layers, one over time and one over features; projections, scores, feed-forward network.
tlob = T * D * D + D * 128 + 128 * 3
for tokens, width in [(T, D), (D, T)] * 4:
    tlob += 4 * tokens * width**2 + 2 * tokens**2 * width + 8 * tokens * width**2

# %% DeepLOB's LSTM: four gates of 64 units from 96 inputs and 64 states, a step.
lstm = T * 4 * 64 * (96 + 64)

# %% TransLOB: five convolutions of kernel 2, two blocks of width 15, a head of 64.
convolutions = T * 2 * 14 * (40 + 4 * 14)
blocks = 2 * (4 * T * 15**2 + 2 * T**2 * 15 + 8 * T * 15**2)
translob = convolutions + blocks + T * 15 * 64 + 64 * 3
found = {"DeepLOB's LSTM": lstm, "TransLOB": translob, "FLOPs of TLOB": np.int64(2 * BATCH * tlob)}
