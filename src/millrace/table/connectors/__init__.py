"""Connectors as tables: what ``'connector' = '...'`` makes of a table's options."""
