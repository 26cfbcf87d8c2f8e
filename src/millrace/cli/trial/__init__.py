"""Servers for trying out: ``millrace try``."""
