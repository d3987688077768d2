"""Sentences as MiniLM reads them: its pieces of words, its attention, and how alike two sentences are."""
