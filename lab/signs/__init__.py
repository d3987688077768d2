"""Scores of signs, and synthetic clips: films of hand signs put together from photographs."""
