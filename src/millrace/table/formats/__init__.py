"""Formats of tables: `FORMAT` factories that the connectors for files and messages share."""
