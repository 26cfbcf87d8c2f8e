"""`SqlDialect`: the grammar of statements. PyFlink: ``SqlDialect``."""

from __future__ import annotations

from enum import Enum

__all__ = ["SqlDialect"]


class SqlDialect(Enum):
    """The grammar of statements: Flink's is the one there is. ``HIVE`` is PyFlink's other name, and
    refused by `TableConfig.set_sql_dialect`."""

    DEFAULT = "default"
    HIVE = "hive"
