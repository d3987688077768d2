# %% Pace and wavelength of the pair, and the wave itself.
omega = BASE ** (-2 * PAIR / WIDTH)
found = {"omega": omega, "wavelength": 2 * np.pi / omega, "wave": PE[: min(12, len(PE)), 2 * PAIR]}
if LEARNED is None:
    assert np.allclose(PE[:, 2 * PAIR], SCALE * np.sin(omega * np.arange(LENGTH)))
