"""Alembic's migrations between the versions of a registry's tables."""
