"""The lecture: one page an idea, each with its equation, this input's numbers in it, a figure and one control at a time."""
