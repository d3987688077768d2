# %% Which property holds when: positions on or off, and three masks.
SETTINGS = [(False, "none"), (True, "none"), (False, "fixed"), (False, "permuted"), (True, "permuted")]
equivariant, invariant = [], []
for positions, causal in SETTINGS:
    A, Z, A_after, Z_after = compare(positions, causal)
    equivariant.append(np.abs(Z_after - P @ Z).max() < 1e-10)
    invariant.append(np.abs(Z_after.mean(axis=0) - Z.mean(axis=0)).max() < 1e-10)
found = {"equivariant": equivariant, "invariant": invariant}
