# %% The query's output: a mixture of the value rows.
found = {"weights": weights[HEAD, QUERY], "z": sum(weight * row for weight, row in zip(weights[HEAD, QUERY], v[HEAD]))}
