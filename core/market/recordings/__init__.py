"""The library of recordings: what lies in a folder or at a URL, how it is laid out, opened, recorded, renamed and merged."""
