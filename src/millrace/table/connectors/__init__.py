"""Connectors as tables, created from the options of a table."""
