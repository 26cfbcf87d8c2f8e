"""Columnar keyed state: each key has a slot, and its values are in columns by slot."""
