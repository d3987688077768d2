# %% The query's scores, before and after the division.
found = {"q k": raw[HEAD, QUERY], "scores": raw[HEAD, QUERY] / (TEMPERATURE * np.sqrt(q.shape[-1]))}
