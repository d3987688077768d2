# %% Is A' = P A P^T?
A, Z, A_after, Z_after = compare(POSITIONS, CAUSAL)
found = {"first row of PAP^T": (P @ A[0] @ P.T)[0], "first row of A'": A_after[0][0],
         "largest |A' - PAP^T|": np.abs(A_after - P @ A @ P.T).max()}  # fmt: skip
