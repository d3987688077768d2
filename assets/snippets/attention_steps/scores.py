# %% The query's scores, before and after the division.
found = {"q k": raw[0, QUERY], "scores": raw[0, QUERY] / (TEMPERATURE * np.sqrt(q.shape[-1]))}
