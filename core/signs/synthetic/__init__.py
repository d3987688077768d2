"""Synthetic clips: films of hand signs put together from photographs, for training and evaluation."""
