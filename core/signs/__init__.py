"""What surrounds IIGA: clips in, vocabularies, CTC, decoding, metrics."""
