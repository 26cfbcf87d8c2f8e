"""What statements do: a module per kind of statement."""
