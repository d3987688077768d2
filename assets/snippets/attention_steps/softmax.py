# %% The query's weights and their entropy in nats.
found = {"weights": weights[HEAD, QUERY], "entropy": entropy[HEAD, QUERY], "sum": weights[HEAD, QUERY].sum()}
