"""Relational trees as JSON, for compiled plans."""
