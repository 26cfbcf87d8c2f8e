"""Exceptions of tables and catalogs, under the import path that they have in PyFlink."""
