"""Name of the table with a registry's revision. Alembic's default name is not used, because it may
belong to another program.
"""

from __future__ import annotations

__all__ = ["VERSION_TABLE"]

VERSION_TABLE = "millrace_revision"
