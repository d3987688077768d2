"""Answers of forecasters and what became of them: one table, one score of it, and what calls are worth."""
