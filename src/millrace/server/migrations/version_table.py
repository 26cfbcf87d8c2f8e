"""The name of the table with a registry's revision: Alembic's own may be another program's."""

from __future__ import annotations

__all__ = ["VERSION_TABLE"]

VERSION_TABLE = "millrace_revision"
