# %% The heads side by side, and mixed by W_O.
found = {"concat": joined[QUERY], "output": output[QUERY]}
