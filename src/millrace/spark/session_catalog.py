"""The catalog of this process's Spark session: databases, tables and views."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from millrace.spark.arrow_schemas import arrow_schema_in

__all__ = ["arrow_schema", "databases", "table", "tables"]


def databases() -> list[str]:
    """Names of the databases of Spark's current catalog."""
    return [database.name for database in _session().catalog.listDatabases()]


def tables(database: str) -> list[str]:
    """Names of the tables and views of a database, and of the session's temporary views."""
    return [table_info.name for table_info in _session().catalog.listTables(database)]


def table(database: str, name: str) -> DataFrame | None:
    """The rows of a table or view; None if there is none. A table of the database hides a temporary
    view with the same name.
    """
    session = _session()
    qualified = f"{_quoted(database)}.{_quoted(name)}"
    if session.catalog.tableExists(qualified):
        return session.table(qualified)
    plain = _quoted(name)
    entry = session.catalog.tableExists(plain) and session.catalog.getTable(plain)
    return session.table(plain) if entry and entry.isTemporary else None


def arrow_schema(frame: DataFrame) -> Any:
    """The `pyarrow.Schema` of a DataFrame.

    Raises:
        TypeError: a column's type has none.
    """
    return arrow_schema_in(frame.schema, "UTC")


def _session() -> SparkSession:
    from millrace.spark.session import current_session

    return current_session()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
