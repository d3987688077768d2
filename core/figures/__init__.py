"""Figures: arrays in, plotly figures out. Pure functions, so that each can be tested and used in a notebook."""
