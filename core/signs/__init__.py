"""Modules around IIGA: clips in, vocabularies, CTC, decoding, metrics."""
