"""Rows of a table as Protobuf messages: fields by name, and times in the types of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.time.amounts import Instant
from millrace.common.types.batch import Batch, RowBatch
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.common.types.row import Row, named_row

__all__ = ["RowsByName", "RowsWithTimes"]

_SECOND, _MICROSECOND = timedelta(seconds=1), timedelta(microseconds=1)


class RowsByName(SerializationSchema[Row]):
    """Serializer that gives the rows of a table the names of the table's columns."""

    def __init__(self, names: Sequence[str], inner: SerializationSchema[Any]) -> None:
        self._names, self._inner = tuple(names), inner

    def serialize(self, value: Row) -> bytes:
        return self.serialize_batch([value])[0]

    def serialize_batch(self, values: Sequence[Row]) -> list[bytes]:
        named = [dict(zip(self._names, value, strict=True)) for value in values]
        return list(self._inner.serialize_batch(named))


class RowsWithTimes(DeserializationSchema[Row]):
    """Deserializer that converts the times in rows to the types of the columns.

    Args:
        columns: columns of the table, by the field names of the rows.
        inner: reads the rows.
    """

    def __init__(self, columns: RowType, inner: DeserializationSchema[Row]) -> None:
        self._columns, self._inner = columns, inner
        self._types = {field.name: field.type for field in columns.fields}

    def deserialize(self, message: bytes) -> Row:
        """The row.

        Raises:
            MalformedRecordError: the bytes are not such a message.
        """
        return self._converted(self._inner.deserialize(message))

    def deserialize_batch(self, messages: Sequence[bytes]) -> Batch:
        rows = self._inner.deserialize_batch(messages).to_rows().values
        return RowBatch(list(map(self._converted, rows)))

    def _converted(self, row: Row) -> Row:
        names = self._columns.names
        return named_row(names, [_converted(row[name], self._types[name]) for name in names])


def _converted(value: Any, kind: LogicalType) -> Any:
    """A value with its parts, in the type of its column."""
    if isinstance(value, Instant):
        if isinstance(kind, RowType):
            return Row(value.seconds, value.nanos)
        if isinstance(kind, logical.TimestampType):
            at = datetime.fromtimestamp(value.seconds, UTC).replace(tzinfo=None)
            return at + timedelta(microseconds=value.nanos // 1000)
        return value
    if isinstance(value, timedelta) and isinstance(kind, RowType):
        seconds, rest = divmod(abs(value), _SECOND)
        sign = -1 if value < timedelta() else 1  # both parts have the same
        return Row(sign * seconds, sign * (rest // _MICROSECOND) * 1000)
    if isinstance(value, Row) and isinstance(kind, RowType):
        values = [_converted(value[field.name], field.type) for field in kind.fields]
        return named_row(kind.names, values)
    if isinstance(value, list) and isinstance(kind, logical.ArrayType):
        return [_converted(item, kind.element_type) for item in value]
    if isinstance(value, dict) and isinstance(kind, logical.MapType):
        return {key: _converted(item, kind.value_type) for key, item in value.items()}
    return value
