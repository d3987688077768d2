"""The lecture's numbers: one module an idea, arrays in and arrays out."""
