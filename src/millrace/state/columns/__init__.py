"""Columnar keyed state: keys have slots, and what they have is in columns by slot."""
