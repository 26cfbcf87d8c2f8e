"""Operators, one per module."""
