# %% The query's weights and their entropy in nats.
found = {"weights": weights[0, QUERY], "entropy": entropy[0, QUERY], "sum": weights[0, QUERY].sum()}
