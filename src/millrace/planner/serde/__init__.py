"""Relational trees as JSON: what compiled plans are made of."""
