# %% The query's output: a mixture of the value rows.
found = {"weights": weights[0, QUERY], "z": sum(weight * row for weight, row in zip(weights[0, QUERY], v[0]))}
