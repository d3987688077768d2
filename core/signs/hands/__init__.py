"""Hands in pictures: palms found, 21 landmarks a hand, and the same hand followed from frame to frame."""
