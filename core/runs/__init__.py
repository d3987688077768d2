"""Trainings that the app shows: a card's history, what an epoch takes."""
