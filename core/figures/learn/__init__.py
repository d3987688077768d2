"""Figures of the lecture, one module per page, its block diagram among them."""
