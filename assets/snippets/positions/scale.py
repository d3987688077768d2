# %% The size of s PE beside that of the content it is added to.
RMS_OF_CONTENT = 1.0
found = {"ratio": np.sqrt((PE**2).mean()) / RMS_OF_CONTENT, "rms of s PE": np.sqrt((PE**2).mean())}
