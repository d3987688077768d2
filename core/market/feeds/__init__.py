"""Where books come from: one file a source, one protocol."""
