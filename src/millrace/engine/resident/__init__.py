"""Driver's side of resident tasks."""
