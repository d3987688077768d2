# %% Dot product and distance of two positions.
OTHER = 2  # the other position
found = {"dot": PE[POS] @ PE[OTHER], "distance": np.linalg.norm(PE[POS] - PE[OTHER])}
if LEARNED is None:
    omega = BASE ** (-np.arange(0, WIDTH, 2) / WIDTH)
    assert np.isclose(found["dot"], SCALE**2 * np.cos((POS - OTHER) * omega).sum())
