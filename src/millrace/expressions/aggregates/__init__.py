"""Aggregate functions: their types, and accumulators in columns by slot."""
