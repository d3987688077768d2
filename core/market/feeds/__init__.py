"""Sources of order books: one file a source, one protocol."""
