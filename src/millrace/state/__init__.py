"""State: key groups, keyed tables, their table deltas, and the checkpoint format."""
