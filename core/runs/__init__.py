"""Trainings that the app shows: a card's history."""
