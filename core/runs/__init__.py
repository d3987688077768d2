"""Scoring that the app starts, trainings that it shows: the process, a card's history, what an epoch takes."""
