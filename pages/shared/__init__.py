"""What several pages use: language, URL state, controls, the live plot, the list of pages."""
