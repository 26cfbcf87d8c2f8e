"""Catalogs: where names of tables, views, functions and databases are kept."""
