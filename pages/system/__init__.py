"""Pages about the app itself."""
