"""Protobuf's Timestamp and Duration as values of columns: as points in time and intervals, or as
rows of seconds and nanoseconds, as in Flink."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from millrace.common.serialization import DeserializationSchema
from millrace.common.time.amounts import Instant
from millrace.common.types.batch import Batch, RowBatch
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.common.types.row import Row, named_row

__all__ = ["RowsWithTimes", "columns_for"]

TIMESTAMP, DURATION = "google.protobuf.Timestamp", "google.protobuf.Duration"
_PARTS = ("seconds", "nanos")
_SECOND, _MICROSECOND = timedelta(seconds=1), timedelta(microseconds=1)
_COLUMNS: dict[str, tuple[tuple[type[LogicalType], ...], str]] = {
    TIMESTAMP: (
        (logical.LocalZonedTimestampType, logical.TimestampType),
        "TIMESTAMP_LTZ, TIMESTAMP (in UTC)",
    ),
    DURATION: ((logical.DayTimeIntervalType,), "INTERVAL DAY TO SECOND"),
}


def columns_for(name: str, kind: LogicalType) -> str | None:
    """Column types for a message type given by its full name, if they differ from ``kind``; None
    if ``kind`` fits."""
    if name not in _COLUMNS:
        return None
    kinds, texts = _COLUMNS[name]
    if isinstance(kind, kinds) or (isinstance(kind, RowType) and kind.names == _PARTS):
        return None
    return f"{texts} or ROW<seconds BIGINT, nanos INT>"


class RowsWithTimes(DeserializationSchema[Row]):
    """Deserializer of rows with times in the types of the columns.

    Args:
        columns: columns of the table, by the field names of the rows.
        inner: reads the rows.
    """

    def __init__(self, columns: RowType, inner: DeserializationSchema[Row]) -> None:
        self._columns, self._inner = columns, inner
        self._types = {each.name: each.type for each in columns.fields}

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
        values = [_converted(value[each.name], each.type) for each in kind.fields]
        return named_row(kind.names, values)
    if isinstance(value, list) and isinstance(kind, logical.ArrayType):
        return [_converted(each, kind.element_type) for each in value]
    if isinstance(value, dict) and isinstance(kind, logical.MapType):
        return {key: _converted(each, kind.value_type) for key, each in value.items()}
    return value
