"""Aggregate functions: their types, and accumulators stored in columns by slot."""
