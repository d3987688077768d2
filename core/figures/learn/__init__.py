"""Figures of the lecture, one module per page."""
