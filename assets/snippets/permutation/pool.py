# %% Does the mean over the words change?
A, Z, A_after, Z_after = compare(POSITIONS, CAUSAL)
found = {"mean of Z": Z.mean(axis=0), "mean of Z'": Z_after.mean(axis=0)}
