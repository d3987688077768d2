"""Recipes of the models that pages show but users do not train, and what reads their data."""
