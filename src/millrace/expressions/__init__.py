"""Expressions of tables: what they are, which functions there are, and how columns are computed."""
