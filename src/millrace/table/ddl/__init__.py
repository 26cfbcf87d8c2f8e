"""Execution of statements, one module per kind of statement."""
