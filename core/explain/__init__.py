"""What a model looked at, and which of its inputs decided: for any model here that hands out its attention."""
