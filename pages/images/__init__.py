"""Garments: the pages of the Vision Transformer."""
