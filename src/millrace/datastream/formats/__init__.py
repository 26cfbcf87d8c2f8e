"""Formats at the paths that PyFlink programs import them from."""
