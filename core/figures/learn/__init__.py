"""Figures of the lecture, one module a page."""
