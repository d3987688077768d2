# %% The report's listing doubles the exponent: the standard form with the base squared.
last = WIDTH // 2 - 1
standard, doubled = 2 * np.pi * BASE ** (2 * last / WIDTH), 2 * np.pi * BASE ** (4 * last / WIDTH)
still = [int((np.ptp(pe, axis=0) < 0.01 * np.ptp(pe)).sum()) for pe in (encoding(), encoding(base=BASE**2))]
found = {"last wavelengths": [standard, doubled], "channels that hardly change": still}
