# %% The row of the query on display.
found = {"q": (X @ W_Q)[QUERY], "k": (X @ W_K)[QUERY], "v": (X @ W_V)[QUERY]}
