"""Decoder of row values in the log to the types that a query would return."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from millrace.connectors.postgres_cdc.captured_table import columns_in_query, in_query
from millrace.connectors.postgres_cdc.change import ChangeOperation, RowImage, TableChange
from millrace.connectors.postgres_cdc.connection import PostgresCdcError, import_psycopg
from millrace.connectors.postgres_cdc.log_cursor import LogChange, LogTable
from millrace.connectors.postgres_cdc.pgoutput import UNCHANGED, Values
from millrace.connectors.postgres_cdc.splits import Key

__all__ = ["RowDecoder"]

_OPERATIONS = {op.value: op for op in ChangeOperation}
_BASE_TYPES = """
with recursive base(oid, at) as (
    select oid, oid from pg_type where oid = any(%s)
    union all
    select base.oid, t.typbasetype from base join pg_type t on t.oid = base.at where t.typtype = 'd'
)
select base.oid, base.at from base join pg_type t on t.oid = base.at where t.typtype <> 'd'
"""


class _TableDecoder:
    """Decodes rows of one table with their layout from some position of the log on."""

    def __init__(self, connection: Any, database: str, table: LogTable) -> None:
        import_psycopg()
        from psycopg.adapt import Transformer
        from psycopg.pq import Format

        self._name = table.table.full_name
        self.image = RowImage(
            database, table.table.schema, table.table.name, table.columns, table.key,
            table.full_identity,
        )  # fmt: skip
        oids = [column.type_oid for column in table.relation.columns]
        base = dict(connection.execute(_BASE_TYPES, (oids,)).fetchall())
        self._transformer = Transformer(connection)
        self._transformer.set_loader_types([base.get(oid, oid) for oid in oids], Format.TEXT)
        self._load = self._transformer.load_sequence

    def decode(self, values: Values | None) -> tuple[Any, ...] | None:
        """Decoded values of a row; None stays None.

        Raises:
            PostgresCdcError: Python has no value for one of them.
        """
        if values is None:
            return None
        try:
            return tuple(self._load(values))
        except (import_psycopg().DataError, ValueError) as error:
            raise PostgresCdcError(
                f"a row of table {self._name} has a value that cannot be read: {error}"
            ) from error


class RowDecoder:
    """Decodes changes, and looks up values that an update has left out.

    Args:
        connection: for questions to the catalog, and for large values that an update left as they
            were: without ``REPLICA IDENTITY FULL`` the log does not have them.
    """

    def __init__(self, connection: Any, database: str) -> None:
        self._connection = connection
        self._database = database
        self._decoders: dict[LogTable, _TableDecoder] = {}

    def decode(self, changes: Sequence[LogChange]) -> list[TableChange]:
        """The changes with typed values."""
        unchanged = [i for i, change in enumerate(changes) if UNCHANGED in (change.after or ())]
        if unchanged:
            changes = self._with_looked_up(changes, unchanged)
        typed = []
        for op, table, before, after, lsn, (_, commit_time, xid) in changes:
            decoder = self._decoders.get(table) or self._learn(table)
            old, new = decoder.decode(before), decoder.decode(after)
            operation = _OPERATIONS[op]
            typed.append(TableChange(operation, decoder.image, old, new, lsn, commit_time, xid))
        return typed

    def _learn(self, table: LogTable) -> _TableDecoder:
        decoder = _TableDecoder(self._connection, self._database, table)
        self._decoders[table] = decoder
        return decoder

    def _with_looked_up(
        self, changes: Sequence[LogChange], indexes: Sequence[int]
    ) -> list[LogChange]:
        """Changes with large values taken from the current table. If the values have changed
        since the change, a later change has the new values; if the row is gone, a later change
        deletes it."""
        filled = list(changes)
        by_columns: dict[tuple[LogTable, tuple[int, ...]], list[int]] = defaultdict(list)
        for index in indexes:
            after = changes[index].after or []
            places = tuple(i for i, value in enumerate(after) if value == UNCHANGED)
            by_columns[changes[index].table, places].append(index)
        for (table, places), own in by_columns.items():
            values = self._look_up(table, places, [changes[index].key for index in own])
            for index in own:
                change, after = filled[index], list(filled[index].after or [])
                looked_up = values.get(change.key, (None,) * len(places))
                for place, value in zip(places, looked_up, strict=True):
                    after[place] = None if value is None else value.encode()
                filled[index] = change._replace(after=after)
        return filled

    def _look_up(
        self, table: LogTable, places: Sequence[int], keys: Sequence[Key]
    ) -> dict[Key, tuple[str | None, ...]]:
        captured, width = table.table, len(table.key)
        distinct = list(set(keys))
        names = [f"k{index}" for index in range(width)]
        on = " and ".join(
            f"{columns_in_query([column], 't.')} = k.{name}::{key_type}"
            for column, name, key_type in zip(captured.key, names, captured.key_types, strict=True)
        )
        columns = [f"k.{name}" for name in names]
        wanted = [table.columns[place] for place in places]
        columns += [f"{columns_in_query([column], 't.')}::text" for column in wanted]
        rows = self._connection.execute(
            f"select {', '.join(columns)} from {in_query(captured)} t join "
            f"unnest({', '.join(['%s::text[]'] * width)}) as k({', '.join(names)}) on {on}",
            [list(part) for part in zip(*distinct, strict=True)],
        )
        return {tuple(row[:width]): tuple(row[width:]) for row in rows}
