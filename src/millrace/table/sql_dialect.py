"""`SqlDialect`: the grammar of statements. PyFlink: ``SqlDialect``."""

from __future__ import annotations

from enum import Enum

__all__ = ["SqlDialect"]


class SqlDialect(Enum):
    """The grammar of statements: only Flink's is supported. ``HIVE`` is PyFlink's other value,
    which `TableConfig.set_sql_dialect` refuses."""

    DEFAULT = "default"
    HIVE = "hive"
