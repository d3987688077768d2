"""The pages: one file each, reading widgets, calling core and showing figures."""
