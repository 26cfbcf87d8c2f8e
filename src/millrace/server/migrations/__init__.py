"""The steps from each version of a registry's tables to the next, for Alembic."""
