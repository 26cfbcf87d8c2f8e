"""Statements for records: generated for a table, or written by the user."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy

from millrace.common.errors import SerializationError
from millrace.common.types.row import Row
from millrace.connectors.cassandra.client import CassandraError, import_cassandra, is_passing
from millrace.connectors.cassandra.consistency_level import ConsistencyLevel
from millrace.connectors.row_changes import ReplacedRows

__all__ = ["BoundValues", "CassandraTarget", "Statements"]

BoundValues = tuple[str, tuple[Any, ...]]
"""Text of a statement, and its values as bytes: None for null, False for columns that stay."""

_KINDS: dict[str, tuple[type, ...]] = {
    "blob": (bytes, bytearray, memoryview),
    "boolean": (bool, numpy.bool_),
}
"""Types of values by type of column: the driver makes five zero bytes of 5, and stores 7 as a
boolean."""
_NOT_KINDS: dict[str, tuple[type, ...]] = {"date": (datetime, int, numpy.integer)}
"""Types of values that a column must not get: the driver drops the time of day, and takes 5
for a day more than five million years ago."""


@dataclass(frozen=True)
class CassandraTarget:
    """Destination of the records: a table or a query, with its options."""

    table: str | None = None
    """Name of the table, with its keyspace."""
    query: str | None = None
    """Statement with a ``?`` for every field, instead of a table."""
    consistency: ConsistencyLevel = ConsistencyLevel.LOCAL_QUORUM
    ttl_s: int | None = None
    ignore_nulls: bool = False
    timestamp_us: int | None = None
    """Timestamp of all writes; None if the client gives each write its own."""
    if_not_exists: bool = False

    def __str__(self) -> str:
        return f"table {self.table}" if self.table is not None else f"statement {self.query!r}"


class Statements:
    """Makes statements from records; each statement text is prepared once.

    Args:
        session: session of the driver.

    Raises:
        CassandraError: there is no such table.
    """

    def __init__(self, session: Any, target: CassandraTarget) -> None:
        self.session = session
        self._target = target
        self._prepared: dict[str, _Prepared] = {}
        self._key: tuple[str, ...] = ()
        if target.table is not None:
            self._key = _primary_key(session, target.table)

    def of(self, values: Sequence[Any], replaced: ReplacedRows) -> Iterator[BoundValues]:
        """A statement with its values for each record, which is written or deletes a row.

        Args:
            replaced: rows of the epoch that an update has replaced.

        Raises:
            SerializationError: a record does not fit.
            CassandraError: the table has no such column, or the statement is none.
        """
        if self._target.query is not None:
            prepared = self._statement(self._target.query)
            for value in values:
                yield self._bound(prepared, self._arguments(prepared, value))
            return
        for written, value in replaced.changes(values, self._key_of):
            yield self._change(value, written)

    def last(self, replaced: ReplacedRows) -> Iterator[BoundValues]:
        """The remaining statements with their values, at the end of an epoch."""
        for value in replaced.take():
            yield self._change(value, False)

    def _change(self, value: Any, written: bool) -> BoundValues:
        fields = _fields(value)
        if written:
            return self._bound(self._statement(self._insert(tuple(fields))), list(fields.values()))
        return self._bound(self._statement(self._delete()), self._key_in(fields))

    def _key_of(self, value: Any) -> tuple[Any, ...]:
        """The primary key, as the server gets it."""
        prepared = self._statement(self._delete())
        return self._bound(prepared, self._key_in(_fields(value)))[1]

    def _key_in(self, fields: dict[str, Any]) -> list[Any]:
        try:
            return [fields[name] for name in self._key]
        except KeyError as error:
            raise self._keyless(fields, error.args[0]) from None

    def _keyless(self, fields: dict[str, Any], name: str) -> SerializationError:
        return SerializationError(
            f"a record with the fields {', '.join(fields)} has no {name!r}, which "
            f"is in the primary key of {self._target}"
        )

    def require_keys(self, values: Sequence[Any]) -> None:
        """Refuse records without a primary key, which the server would refuse.

        Raises:
            SerializationError: a column of the key is missing or null.
        """
        for value in values if self._key else ():
            fields = _fields(value)
            for name in self._key:
                if fields.get(name) is None:
                    raise self._keyless(fields, name)

    def bound(self, values: BoundValues) -> Any:
        """The bound statement of the driver.

        Raises:
            CassandraError: the table has no such column any more.
        """
        from cassandra.query import UNSET_VALUE, BoundStatement

        text, parts = values
        statement = BoundStatement(self._statement(text).statement)
        statement.values = [UNSET_VALUE if part is False else part for part in parts]
        statement.raw_values = statement.values
        return statement

    def close(self) -> None:
        """Close the session and its connections."""
        self.session.cluster.shutdown()

    def _insert(self, names: tuple[str, ...]) -> str:
        columns, marks = ", ".join(map(_quoted, names)), ", ".join("?" * len(names))
        target = self._target
        new = " IF NOT EXISTS" if target.if_not_exists else ""
        using = _using(TTL=target.ttl_s, TIMESTAMP=target.timestamp_us)
        table = _quoted_table(target.table)
        return f"INSERT INTO {table} ({columns}) VALUES ({marks}){new}{using}"

    def _delete(self) -> str:
        where = " AND ".join(f"{_quoted(name)} = ?" for name in self._key)
        using = _using(TIMESTAMP=self._target.timestamp_us)
        return f"DELETE FROM {_quoted_table(self._target.table)}{using} WHERE {where}"

    def _statement(self, text: str) -> _Prepared:
        prepared = self._prepared.get(text)
        if prepared is None:
            cassandra = import_cassandra()
            from cassandra.protocol import ErrorMessage

            try:
                statement = self.session.prepare(text)
            except (cassandra.DriverException, ErrorMessage) as error:
                if is_passing(error):
                    raise
                raise CassandraError(
                    f"{self._target} cannot be written: Cassandra says of {text!r}: {_said(error)}"
                ) from None
            statement.consistency_level = self._target.consistency.value
            statement.is_idempotent = True
            prepared = self._prepared[text] = _Prepared(text, statement)
        return prepared

    def _arguments(self, prepared: _Prepared, value: Any) -> Sequence[Any]:
        columns = prepared.columns
        if isinstance(value, dict):
            try:
                return [value[column.name] for column in columns]
            except KeyError as error:
                raise SerializationError(
                    f"a record with the fields {', '.join(value)} has no {error.args[0]!r}, "
                    f"which {self._target} needs"
                ) from None
        if isinstance(value, Row):
            value = value._values
        elif not isinstance(value, (tuple, list)):
            value = (value,)
        if len(value) != len(columns):
            raise SerializationError(
                f"a record has {len(value)} fields, and {self._target} needs {len(columns)}"
            )
        return list(value)

    def _bound(self, prepared: _Prepared, values: Sequence[Any]) -> BoundValues:
        from cassandra.query import UNSET_VALUE

        if self._target.ignore_nulls:
            values = [UNSET_VALUE if value is None else value for value in values]
        try:
            prepared.require_kinds(values)
            bound = prepared.statement.bind(values).values
        except (TypeError, ValueError, struct.error, OverflowError, AttributeError) as error:
            raise self._misfit(prepared, values, error) from error
        return prepared.text, tuple(False if part is UNSET_VALUE else part for part in bound)

    def _misfit(
        self, prepared: _Prepared, values: Sequence[Any], error: Exception
    ) -> SerializationError:
        """The error with the name of the column, which the driver often leaves out."""
        from cassandra.query import UNSET_VALUE

        for column, value in zip(prepared.columns, values, strict=True):
            if value is None or value is UNSET_VALUE:
                continue
            try:
                _require_kind(column, value)
                column.type.serialize(value, 4)
            except (TypeError, ValueError, struct.error, OverflowError, AttributeError):
                return SerializationError(
                    f"column {column.name!r} of {column.keyspace_name}.{column.table_name} is "
                    f"{column.type.cql_parameterized_type()} and cannot hold a "
                    f"{type(value).__name__}: {str(value)[:100]}"
                )
        return SerializationError(f"a record does not fit {self._target}: {error}")


class _Prepared:
    """A prepared statement, and the columns for which the driver would accept values of wrong
    types.
    """

    def __init__(self, text: str, statement: Any) -> None:
        self.text = text
        self.statement = statement
        self.columns: Sequence[Any] = statement.column_metadata
        self._strict = [
            (place, column)
            for place, column in enumerate(self.columns)
            if column.type.typename in _KINDS or column.type.typename in _NOT_KINDS
        ]

    def require_kinds(self, values: Sequence[Any]) -> None:
        """Raise TypeError for values that the driver would silently convert."""
        for place, column in self._strict:
            _require_kind(column, values[place])


def _require_kind(column: Any, value: Any) -> None:
    from cassandra.query import UNSET_VALUE

    if value is None or value is UNSET_VALUE:
        return
    name = column.type.typename
    right = isinstance(value, _KINDS.get(name, object))
    if not right or isinstance(value, _NOT_KINDS.get(name, ())):
        raise TypeError(f"not a {name}")


def _fields(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    if isinstance(value, Row):
        try:
            return value.as_dict()
        except TypeError as error:
            raise SerializationError(f"{error}: name its fields, as in Row(id=1)") from error
    raise SerializationError(
        f"{str(value)[:100]} has no field names: use dicts or Rows, or call set_query() of the sink"
    )


def _primary_key(session: Any, table: str) -> tuple[str, ...]:
    keyspace, _, name = table.partition(".")
    known = session.cluster.metadata.keyspaces.get(keyspace)
    if known is None:
        raise CassandraError(
            f"there is no keyspace {keyspace!r}: set_table() takes 'keyspace.table'"
        )
    metadata = known.tables.get(name)
    if metadata is None:
        tables = ", ".join(sorted(known.tables)) or "none"
        raise CassandraError(
            f"there is no table {name!r} in the keyspace {keyspace!r}, which has: {tables}"
        )
    return tuple(column.name for column in metadata.primary_key)


def _using(**parameters: int | None) -> str:
    given = [f"{name} {value}" for name, value in parameters.items() if value is not None]
    return f" USING {' AND '.join(given)}" if given else ""


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _quoted_table(table: str | None) -> str:
    return ".".join(map(_quoted, (table or "").split(".", 1)))


def _said(error: Exception) -> str:
    """The server's own message."""
    return str(getattr(error, "message", None) or error)[:300]
