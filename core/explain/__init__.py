"""Attention maps of a model, and the inputs that decided: for any model here that hands out its attention."""
