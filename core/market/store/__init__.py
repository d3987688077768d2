"""Recordings on disk: hourly segments by way of a journal, their index, their rows, the places they come from and go to."""
