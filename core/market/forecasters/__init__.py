"""Forecasters that are scored beside TLOB on equal terms: shipped ones, entry points, files of probabilities, local addresses."""
