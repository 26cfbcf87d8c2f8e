"""Relational trees to transformations: a module per kind of node."""
