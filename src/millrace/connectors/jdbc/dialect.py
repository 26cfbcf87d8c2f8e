"""Differences between databases: quoting of names, upserts, bulk loading."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["Dialect", "dialect_of"]

Rows = Sequence[tuple[Any, ...]]


class Dialect(ABC):
    """The SQL of one kind of database.

    Args:
        connection: its quoting rules are used; it is not kept.
    """

    placeholder: ClassVar[str] = "%s"

    def __init__(self, connection: Connection) -> None:
        self._preparer = connection.dialect.identifier_preparer

    def quote(self, name: str) -> str:
        """A quoted name."""
        return str(self._preparer.quote_identifier(name))

    def unescaped(self, names: str) -> str:
        """Quoted names for a statement without placeholders, in which ``%`` must not be doubled."""
        return names.replace("%%", "%") if self.placeholder == "%s" else names

    def table(self, name: str) -> str:
        """Quoted name of a table, or of ``schema.table``."""
        return ".".join(map(self.quote, name.split(".")))

    def columns(self, names: Sequence[str], prefix: str = "") -> str:
        """Quoted names, separated by commas."""
        return ", ".join(prefix + self.quote(name) for name in names)

    @abstractmethod
    def upsert(self, columns: Sequence[str], key: Sequence[str]) -> str:
        """Clause that makes an INSERT replace rows with the same key."""

    def load(self, connection: Connection, table: str, columns: Sequence[str], rows: Rows) -> None:
        """Insert rows into a table."""
        marks = ", ".join([self.placeholder] * len(columns))
        names = self.columns(columns)
        statement = f"INSERT INTO {self.table(table)} ({names}) VALUES ({marks})"
        connection.exec_driver_sql(statement, list(rows))

    def _others(self, columns: Sequence[str], key: Sequence[str]) -> list[str]:
        return [self.quote(name) for name in columns if name not in set(key)]


class SQLite(Dialect):
    """SQLite 3.25 or newer."""

    placeholder: ClassVar[str] = "?"

    def upsert(self, columns: Sequence[str], key: Sequence[str]) -> str:
        others = ", ".join(f"{name} = excluded.{name}" for name in self._others(columns, key))
        action = f"UPDATE SET {others}" if others else "NOTHING"
        return f"ON CONFLICT ({self.columns(key)}) DO {action}"

    def load(self, connection: Connection, table: str, columns: Sequence[str], rows: Rows) -> None:
        stored = [tuple(map(_stored, row)) for row in rows]
        super().load(connection, table, columns, stored)


def _stored(value: Any) -> Any:
    """A value as SQLite's driver takes it: decimals, dates and times as text."""
    if isinstance(value, datetime):
        return value.isoformat(" ", "microseconds")
    if isinstance(value, (date, time)):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


class PostgreSQL(SQLite):
    """PostgreSQL. Rows are loaded by COPY; everything else is as in SQLite."""

    placeholder: ClassVar[str] = "%s"

    def load(self, connection: Connection, table: str, columns: Sequence[str], rows: Rows) -> None:
        names = self.unescaped(f"{self.table(table)} ({self.columns(columns)})")
        statement = f"COPY {names} FROM STDIN"
        driver: Any = connection.connection.driver_connection
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            write_row = copy.write_row
            for row in rows:
                write_row(row)


class MySQL(Dialect):
    """MySQL 8 and MariaDB 10.5 or newer; the driver sends many rows in one statement."""

    def upsert(self, columns: Sequence[str], key: Sequence[str]) -> str:
        names = self._others(columns, key) or [self.quote(key[0])]
        return "ON DUPLICATE KEY UPDATE " + ", ".join(f"{name} = VALUES({name})" for name in names)


_DIALECTS: Mapping[str, Callable[[Any], Dialect]] = {
    "postgresql": PostgreSQL,
    "sqlite": SQLite,
    "mysql": MySQL,
    "mariadb": MySQL,
}


def dialect_of(connection: Connection) -> Dialect:
    """The dialect of a connection's database."""
    return _DIALECTS[connection.engine.url.get_backend_name()](connection)
