# %% Is Z' the rows of Z, shuffled?
A, Z, A_after, Z_after = compare(POSITIONS, CAUSAL)
found = {"first row of PZ": (P @ Z)[0], "first row of Z'": Z_after[0], "largest |Z' - PZ|": np.abs(Z_after - P @ Z).max()}
