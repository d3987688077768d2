"""Figures: arrays in, plotly figures out. Pure functions, so that each can be tested and used in a notebook."""

# Plotly takes pandas as it finds it among the loaded modules, half loaded too where another thread is at it:
# imported here, it is whole before the first figure.
import pandas as pd  # noqa: F401
