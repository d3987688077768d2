"""The laboratory: what trains, scores and measures the models that are shipped. It imports `core`; nothing imports it.

`core.cli` finds its commands by name where it lies beside `core`; an installed package has none of it.
"""
