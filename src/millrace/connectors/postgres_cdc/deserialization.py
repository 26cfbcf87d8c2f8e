"""Conversion of changes to records of a stream. Flink CDC docs: "Postgres CDC Connector"."""

from __future__ import annotations

import base64
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta
from datetime import time as time_of_day
from decimal import Decimal
from typing import Any, Generic, TypeVar

import msgspec

from millrace.common.errors import JobDefinitionError
from millrace.common.types.batch import RowBatch
from millrace.common.types.row import Row, RowKind, named_row
from millrace.common.types.type_information import TypeInformation
from millrace.common.types.typeinfo import Types
from millrace.connectors.postgres_cdc.change import ChangeOperation, TableChange

__all__ = [
    "CdcDeserializationSchema",
    "JsonDebeziumDeserializationSchema",
    "RowDeserializationSchema",
]

T = TypeVar("T")
_DELETE, _UPDATE = ChangeOperation.DELETE, ChangeOperation.UPDATE
_INSERTED, _UPDATED_FROM, _UPDATED, _DELETED = (kind.value for kind in RowKind)


class CdcDeserializationSchema(ABC, Generic[T]):
    """Makes records from changes. Must be picklable. Flink CDC: ``DebeziumDeserializationSchema``.

    Example:
        >>> class Deleted(CdcDeserializationSchema[str]):
        ...     def deserialize(self, change: TableChange) -> Iterable[str]:
        ...         if change.operation is ChangeOperation.DELETE:
        ...             yield f"{change.image.table}: {change.before}"
    """

    @abstractmethod
    def deserialize(self, change: TableChange) -> Iterable[T]:
        """Records of a change: none, one or several."""

    @property
    def produced_type(self) -> TypeInformation[Any] | None:
        """The type of the records, or None if it is unknown."""
        return None

    def deserialize_batch(self, changes: Sequence[TableChange]) -> RowBatch[T]:
        """Records of several changes, with their commit times as timestamps."""
        values: list[T] = []
        times: list[int] = []
        for change in changes:
            before = len(values)
            values += self.deserialize(change)
            times += [change.commit_time] * (len(values) - before)
        return RowBatch(values, times)


_METADATA: dict[str, Callable[[TableChange], Any]] = {
    "database_name": lambda change: change.image.database,
    "schema_name": lambda change: change.image.schema,
    "table_name": lambda change: change.image.table,
    "op_ts": lambda change: change.commit_time,
    "lsn": lambda change: change.lsn,
    "xid": lambda change: change.xid,
}


class RowDeserializationSchema(CdcDeserializationSchema[Row]):
    """Makes a `Row` with the columns of the table, whose row kind is the kind of change.

    An update is an UPDATE_BEFORE and an UPDATE_AFTER. Of a table without ``REPLICA IDENTITY FULL``
    the row before is not known: an update is the UPDATE_AFTER alone, and a DELETE has the values of
    the key and otherwise None.

    Args:
        row_type: the type of the rows: the columns to take, by name. None: all columns, as they
            are.
        metadata: further fields behind the columns: ``database_name``, ``schema_name``,
            ``table_name``, ``op_ts`` (ms since 1970 at the commit; 0 for rows read from the table),
            ``lsn`` (position in the log as a number), ``xid``.
        upserts: leave out UPDATE_BEFORE. Flink CDC: ``changelog-mode`` ``upsert``.

    Raises:
        JobDefinitionError: there is no such metadata, or the type is not that of a named row.
    """

    def __init__(
        self,
        row_type: TypeInformation[Any] | None = None,
        metadata: Sequence[str] = (),
        upserts: bool = False,
    ) -> None:
        unknown = [name for name in metadata if name not in _METADATA]
        if unknown:
            raise JobDefinitionError(
                f"there is no metadata {', '.join(unknown)}; the metadata are "
                f"{', '.join(_METADATA)}"
            )
        self._fields = _field_names(row_type)
        self._type = row_type
        self._metadata = tuple(metadata)
        self._upserts = upserts
        if row_type is not None and metadata:
            raise JobDefinitionError("a row_type has no metadata: remove one of the two")

    @property
    def produced_type(self) -> TypeInformation[Any] | None:
        return self._type

    def deserialize(self, change: TableChange) -> list[Row]:
        operation, before, after = change.operation, change.before, change.after
        if operation is _DELETE:
            assert before is not None
            return [self._row(change, before, _DELETED)]
        assert after is not None
        if operation is not _UPDATE:
            return [self._row(change, after, _INSERTED)]
        updated = self._row(change, after, _UPDATED)
        if before is None or self._upserts:
            return [updated]
        return [self._row(change, before, _UPDATED_FROM), updated]

    def _row(self, change: TableChange, values: tuple[Any, ...], kind: int) -> Row:
        names = change.image.columns
        if self._metadata:
            values += tuple(_METADATA[name](change) for name in self._metadata)
            return named_row(names + self._metadata, values, kind)
        if self._fields is not None and self._fields != names:
            values = self._selected(change, names, values)
            names = self._fields
        return named_row(names, values, kind)

    def _selected(
        self, change: TableChange, names: tuple[str, ...], values: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        assert self._fields is not None
        missing = [name for name in self._fields if name not in names]
        if missing:
            raise JobDefinitionError(
                f"table {change.image.schema}.{change.image.table} has no column "
                f"{', '.join(missing)}, which the row_type names; it has {', '.join(names)}"
            )
        return tuple(values[names.index(name)] for name in self._fields)


def _field_names(row_type: TypeInformation[Any] | None) -> tuple[str, ...] | None:
    if row_type is None:
        return None
    names = getattr(row_type, "get_field_names", lambda: None)()
    if not names:
        raise JobDefinitionError(f"rows need a type with names (Types.ROW_NAMED), not {row_type!r}")
    return tuple(names)


class JsonDebeziumDeserializationSchema(CdcDeserializationSchema[str]):
    """Makes a JSON text in Debezium's format: ``before``, ``after``, ``source``, ``op``.

    Values are as Debezium's by default, but decimals are texts (its ``decimal.handling.mode``
    ``string``): dates are days and times microseconds since 1970 or midnight, those with a time
    zone texts; bytes are in base64.

    Example:
        >>> from millrace.connectors.postgres_cdc.change import RowImage
        >>> image = RowImage("shop", "public", "orders", ("id", "price"), (0,), True)
        >>> change = TableChange(ChangeOperation.CREATE, image, None, (7, Decimal("9.90")), 1, 2, 3)
        >>> [text] = JsonDebeziumDeserializationSchema().deserialize(change)
        >>> text[:49]
        '{"before":null,"after":{"id":7,"price":"9.90"},"s'
    """

    def __init__(self) -> None:
        self._encoder: msgspec.json.Encoder | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_encoder": None}

    @property
    def produced_type(self) -> TypeInformation[Any]:
        return Types.STRING()

    def deserialize(self, change: TableChange) -> Iterable[str]:
        if self._encoder is None:
            self._encoder = msgspec.json.Encoder()
        operation, image, before, after, lsn, commit_time, xid = change
        return [
            self._encoder.encode(
                {
                    "before": _object(image.columns, before),
                    "after": _object(image.columns, after),
                    "source": {
                        "connector": "postgresql",
                        "ts_ms": commit_time,
                        "snapshot": "true" if operation is ChangeOperation.READ else "false",
                        "db": image.database,
                        "schema": image.schema,
                        "table": image.table,
                        "txId": xid,
                        "lsn": lsn,
                    },
                    "op": operation.value,
                    "ts_ms": time.time_ns() // 1_000_000,
                }
            ).decode()
        ]


_PLAIN = (int, str, bool, float, type(None))
_EXACT = frozenset(_PLAIN) - {float}
_MIDNIGHT = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


def _object(columns: tuple[str, ...], values: tuple[Any, ...] | None) -> dict[str, Any] | None:
    if values is None:
        return None
    return {
        name: value if type(value) in _EXACT else _json_value(value)
        for name, value in zip(columns, values, strict=True)
    }


def _json_value(value: Any) -> Any:
    """A value in Debezium's JSON form."""
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            return value.isoformat().replace("+00:00", "Z")
        return (value - _MIDNIGHT) // _MICROSECOND
    if isinstance(value, date):
        return (value - _MIDNIGHT.date()).days
    if isinstance(value, time_of_day):
        at = timedelta(
            hours=value.hour, minutes=value.minute, seconds=value.second,
            microseconds=value.microsecond,
        )  # fmt: skip
        return at // _MICROSECOND if value.tzinfo is None else value.isoformat()
    if isinstance(value, timedelta):
        return value // _MICROSECOND
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    if isinstance(value, (list, tuple)):
        return [_json_value(item) for item in value]
    if isinstance(value, dict):  # of type json: Debezium has its text
        return msgspec.json.encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return _NOT_FINITE.get(str(value), "NaN")
    return value if isinstance(value, _PLAIN) else _text(value)


_NOT_FINITE = {"inf": "Infinity", "-inf": "-Infinity"}
"""JSON has no numbers for them: Debezium's are texts."""


def _text(value: Any) -> str:
    return f"{value:f}" if isinstance(value, Decimal) and value.is_finite() else str(value)
