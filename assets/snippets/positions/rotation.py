# %% M with PE(pos + SHIFT) = M PE(pos): a rotation a pair of channels.
M = np.zeros((WIDTH, WIDTH))
for i, omega in enumerate(BASE ** (-np.arange(0, WIDTH, 2) / WIDTH)):
    c, s = np.cos(SHIFT * omega), np.sin(SHIFT * omega)
    M[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[c, s], [-s, c]]
left_over = PE[SHIFT:] - PE[:-SHIFT] @ M.T

# %% The pair on display, turned, and what the matrix leaves over.
found = {"turned": (M @ PE[POS])[2 * PAIR : 2 * PAIR + 2], "largest residual": np.abs(left_over).max()}
