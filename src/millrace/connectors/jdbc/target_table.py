"""The target table of a sink, and the merge of staged rows into it: the last change of each key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING

from millrace.connectors.jdbc.client import JdbcError
from millrace.connectors.jdbc.dialect import Dialect, Rows, dialect_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["TargetTable", "StagedTable"]

SEQUENCE = "millrace_seq"
DELETED = "millrace_deleted"
BATCH = "millrace_batch"


@dataclass(frozen=True)
class TargetTable:
    """A table: its name, its written columns, and its key columns."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...] = ()
    """Empty: every record is a row."""


class StagedTable:
    """Rows staged for a table, with their order and whether they are deletes.

    Args:
        name: name of the staging table.
        target: the table to which the rows go.
        lasting: whether it is a permanent table for several batches, not a temporary table of
            this connection.
    """

    def __init__(
        self, name: str, target: TargetTable, connection: Connection, lasting: bool
    ) -> None:
        self.name = name
        self._target = target
        self._connection = connection
        self._dialect: Dialect = dialect_of(connection)
        self._lasting = lasting
        batch = (BATCH,) if lasting else ()
        self._columns = (*batch, SEQUENCE, DELETED, *target.columns)

    def create(self) -> None:
        """Create the staging table with the columns of the target, unless it exists."""
        if self._lasting and self._exists():
            return
        run, quoted = self._connection.exec_driver_sql, self._dialect.table(self.name)
        columns = self._dialect.columns(self._target.columns, prefix="target.")
        kind = "TABLE" if self._lasting else "TEMPORARY TABLE"
        # its type is bigint everywhere
        numbers = (
            f"9223372036854775807 AS {name}" for name in self._columns[: -len(self._target.columns)]
        )
        run(
            f"CREATE {kind} IF NOT EXISTS {quoted} AS SELECT {', '.join(numbers)}, {columns} "
            # joined so, no column must have a value: a row that deletes may have its key alone
            f"FROM (SELECT 1 AS n) AS single LEFT JOIN {self._dialect.table(self._target.name)} "
            "AS target ON 1 = 0 WHERE 1 = 0"
        )
        if self._lasting:
            index = self._dialect.quote(f"{self.name.rpartition('.')[2]}_i")
            run(f"CREATE INDEX {index} ON {quoted} ({BATCH})")

    def drop_empty(self) -> None:
        """Drop the staging table if it is empty, because the target's columns may have changed.

        Raises:
            JdbcError: rows are staged, with other columns.
        """
        if not self._exists():
            return
        quoted, run = self._dialect.table(self.name), self._connection.exec_driver_sql
        if run(f"SELECT 1 FROM {quoted} LIMIT 1").first() is None:
            run(f"DROP TABLE {quoted}")
            return
        columns = set(run(f"SELECT * FROM {quoted} WHERE 1 = 0").keys())
        if columns != set(self._columns):
            raise JdbcError(
                f"{self.name} has rows that wait to be committed, with the columns "
                f"{', '.join(sorted(columns))}; the sink now writes "
                f"{', '.join(self._target.columns)}. Resume the job unchanged, stop it with "
                "a savepoint, then change the sink"
            )

    def _exists(self) -> bool:
        from sqlalchemy import inspect

        schema, _, name = self.name.rpartition(".")
        return bool(inspect(self._connection).has_table(name, schema or None))

    def load(self, rows: Rows, deleted: Sequence[bool] | None, batch: int = 0) -> None:
        """Insert rows in their order."""
        head = (batch,) if self._lasting else ()
        kinds = map(int, deleted) if deleted is not None else repeat(0)
        numbered = [
            (*head, number, kind, *row)
            for number, (kind, row) in enumerate(zip(kinds, rows, strict=False))
        ]
        self._dialect.load(self._connection, self.name, self._columns, numbered)

    def merge(self, batches: Sequence[int], deletes: bool) -> None:
        """Apply the last change of each key to the target, and remove the staged rows.

        Args:
            batches: the batches to merge; all if the table is this connection's.
            deletes: whether there are rows that delete.
        """
        run, target = self._connection.exec_driver_sql, self._dialect.table(self._target.name)
        columns, key = self._target.columns, self._target.key
        names = self._dialect.columns(columns)
        if not key:
            run(f"INSERT INTO {target} ({names}) SELECT {names} FROM {self._staged(batches)}")
            return
        keys = self._dialect.columns(key)
        order = f"{BATCH} DESC, {SEQUENCE} DESC" if self._lasting else f"{SEQUENCE} DESC"
        latest = (
            f"(SELECT {names}, {DELETED}, ROW_NUMBER() OVER (PARTITION BY {keys} ORDER BY {order})"
            f" AS millrace_age FROM {self._staged(batches)}) AS latest WHERE millrace_age = 1"
        )
        if deletes:
            where = f"({keys}) IN (SELECT {keys} FROM {latest} AND {DELETED} = 1)"
            run(f"DELETE FROM {target} WHERE {where}")
        upsert = self._dialect.upsert(columns, key)
        # in one order everywhere: two that write the same rows wait, and do not deadlock
        chosen = f"SELECT {names} FROM {latest} AND {DELETED} = 0 ORDER BY {keys}"
        run(f"INSERT INTO {target} ({names}) {chosen} {upsert}")

    def clear(self, batches: Sequence[int]) -> int:
        """Remove staged rows, and return their number."""
        return self._connection.exec_driver_sql(f"DELETE FROM {self._staged(batches)}").rowcount

    def _staged(self, batches: Sequence[int]) -> str:
        quoted = self._dialect.table(self.name)
        if not self._lasting:
            return quoted
        return f"{quoted} WHERE {BATCH} IN ({', '.join(map(str, batches))})"
