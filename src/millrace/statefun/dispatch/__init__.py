"""The operator that hands messages to functions, and its state."""
