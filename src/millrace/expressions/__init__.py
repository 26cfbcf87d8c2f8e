"""Expressions of tables: their trees, the built-in functions, and their evaluation on columns."""
