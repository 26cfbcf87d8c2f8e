"""State: key groups, keyed tables, their deltas, and the checkpoint format."""
