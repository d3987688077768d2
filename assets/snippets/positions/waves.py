# %% Pace and wavelength of the pair.
omega = BASE ** (-2 * PAIR / WIDTH)
found = {"omega": omega, "wavelength": 2 * np.pi / omega}
assert np.allclose(PE[:, 2 * PAIR], np.sin(omega * np.arange(LENGTH)))
