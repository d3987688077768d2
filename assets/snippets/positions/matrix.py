# %% The pair of channels on display at the position on display; the size of the whole.
found = {"pair": PE[POS, 2 * PAIR : 2 * PAIR + 2], "rms": np.sqrt((PE**2).mean()), "row": PE[POS, :6]}
